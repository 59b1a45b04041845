// Owns strict JSON reading: the one way in which bytes from outside become a JavaScript value.
// Guarantees: an accepted text is RFC 8259 in well-formed UTF-8 without a byte order mark, duplicate keys, lone surrogates or too
// deep nesting; reading never throws; keys such as `__proto__` are own properties; every accepted text has a canonical text, equal
// for two texts exactly when they mean the same (numbers compared by how they are written).
// Leaves to others: size limits (they belong to the receiver of the bytes) and the shape of a value (zod schemas).
export { excerpt, jsonPointer } from './json-fault.js';
export type { JsonFault } from './json-fault.js';
export { memberSource } from './member-source.js';
export { parseJson } from './parse-json.js';
export { splitArray, splitLines } from './split-json.js';
