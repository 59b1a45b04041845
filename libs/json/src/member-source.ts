const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);
const SPACE = new Set([0x20, 0x09, 0x0a, 0x0d]);

/**
 * The bytes of one member's value exactly as they stand, so that numbers, key order and white space inside survive; undefined
 * when the object has no such member.
 * @param object a text that `parseJson` accepted, and an object: nothing is checked here
 */
export function memberSource(object: Uint8Array, name: string): Uint8Array | undefined {
  let at = object.indexOf(0x7b) + 1;
  while (at > 0 && at < object.length) {
    const nameStart = object.indexOf(QUOTE, at);
    if (nameStart < 0) return undefined;
    const nameEnd = endOfString(object, nameStart);
    const valueStart = skipSpace(object, object.indexOf(0x3a, nameEnd) + 1);
    const valueEnd = endOfValue(object, valueStart);
    // A name may be written with escapes.
    if (JSON.parse(Buffer.from(object.subarray(nameStart, nameEnd)).toString()) === name) {
      let end = valueEnd;
      while (SPACE.has(object[end - 1] ?? 0)) end -= 1;
      return object.subarray(valueStart, end);
    }
    at = valueEnd + 1;
  }
  return undefined;
}

/** Index of the comma or brace that ends the value. */
function endOfValue(text: Uint8Array, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const byte = text[at] ?? 0;
    if (byte === QUOTE) at = endOfString(text, at) - 1;
    else if (OPENING.has(byte)) depth += 1;
    else if (depth === 0 && (byte === COMMA || CLOSING.has(byte))) return at;
    else if (CLOSING.has(byte)) depth -= 1;
  }
  return text.length;
}

/** Index behind the closing quote. */
function endOfString(text: Uint8Array, quote: number): number {
  for (let at = quote + 1; at < text.length; at += 1) {
    if (text[at] === BACKSLASH) at += 1;
    else if (text[at] === QUOTE) return at + 1;
  }
  return text.length;
}

function skipSpace(text: Uint8Array, start: number): number {
  let at = start;
  while (SPACE.has(text[at] ?? 0)) at += 1;
  return at;
}
