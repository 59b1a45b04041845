// Owns strict JSON reading: the one way in which bytes from outside become a JavaScript value.
// Guarantees: an accepted text is RFC 8259 in well-formed UTF-8 without a byte order mark, duplicate keys, lone surrogates or too
// deep nesting; reading never throws; keys such as `__proto__` are own properties; every accepted text has a canonical text, equal
// for two texts exactly when they mean the same (numbers compared by how they are written).
// Leaves to others: size limits (they belong to the receiver of the bytes) and the shape of a value (zod schemas).
export { memberSource, splitArray, splitLines } from './json-bytes.js';
export { excerpt, jsonPointer, parseJson, type JsonFault } from './parse-json.js';
