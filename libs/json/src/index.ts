// Strict JSON reading: owns the one way in which bytes from outside become a JavaScript value.
// Guarantees: what is accepted is RFC 8259 in well-formed UTF-8 without a byte order mark, duplicate keys, lone surrogates or
// too deep nesting; it never throws; keys such as `__proto__` are own properties; and every accepted text comes with its
// canonical text, equal for two texts exactly when they mean the same (numbers compared by how they are written).
// Leaves to others: size limits (they belong to whoever receives the bytes) and what a value must look like (zod schemas).
export { excerpt, jsonPointer } from './json-fault.js';
export type { JsonFault } from './json-fault.js';
export { memberSource } from './member-source.js';
export { parseJson } from './parse-json.js';
export type { JsonLimits, JsonResult } from './parse-json.js';
export { splitArray, splitLines } from './split-json.js';
