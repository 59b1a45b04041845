// Owns strict reading of JSON, the only way in which bytes from outside become a JavaScript value. Guarantees that an
// accepted text is valid by RFC 8259, in well-formed UTF-8, and has no byte order mark, no duplicate keys, no lone
// surrogates and no excessive nesting. Reading never throws, and keys such as `__proto__` become own properties. Every
// accepted text has a canonical text. Two texts have the same canonical text exactly if they mean the same; numbers are
// compared as they are written. Leaves limits of size to the receivers of the bytes, and the shape of a value to zod
// schemas.
export { memberSource, splitArray, splitLines } from './json-bytes.js';
export { excerpt, jsonPointer, parseJson, type JsonFault } from './parse-json.js';
