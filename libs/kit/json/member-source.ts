import { BRACE, COLON, endOfString, endOfValue, QUOTE, trimmed } from './json-bytes.js';

/**
 * The bytes of one member's value exactly as they stand, so that numbers, key order and white space inside survive; undefined
 * when the object has no such member.
 * @param object a text that `parseJson` accepted, and an object: nothing is checked here
 */
export function memberSource(object: Uint8Array, name: string): Uint8Array | undefined {
  let at = object.indexOf(BRACE) + 1;
  while (at > 0 && at < object.length) {
    const nameStart = object.indexOf(QUOTE, at);
    if (nameStart < 0) return undefined;
    const nameEnd = endOfString(object, nameStart);
    const valueStart = object.indexOf(COLON, nameEnd) + 1;
    const valueEnd = endOfValue(object, valueStart);
    // A name may be written with escapes.
    if (JSON.parse(Buffer.from(object.subarray(nameStart, nameEnd)).toString()) === name)
      return trimmed(object, valueStart, valueEnd);
    at = valueEnd + 1;
  }
  return undefined;
}
