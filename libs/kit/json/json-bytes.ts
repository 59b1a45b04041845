const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const BRACKET_END = 0x5d;
const BRACE = 0x7b;
const BRACE_END = 0x7d;
const NEWLINE = 0x0a;

// Each part of the result is an object, much larger than the two bytes of text that may cause it. Therefore the functions
// return at most `most + 1` parts: one more than allowed, by which the caller can tell that there are too many.

/** Returns the lines of newline-delimited JSON without blank ones, at most `most + 1`. */
export function splitLines(bytes: Buffer, most: number): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < bytes.length && lines.length <= most;) {
    if (isSpace(bytes[start])) {
      start += 1;
      continue;
    }
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline;
    lines.push(trimmed(bytes, start, end));
    start = end + 1;
  }
  return lines;
}

/**
 * Returns the elements of a JSON array, at most `most + 1`; the text after them is not read. Each element keeps its own
 * bytes, so numbers and key order stay as they are. Only the structure of the array is checked, so an element that is not
 * valid JSON does not affect the others.
 * @returns undefined if the text is not an array, or if its brackets are not closed
 */
export function splitArray(bytes: Buffer, most: number): Buffer[] | undefined {
  const text = trimmed(bytes, 0, bytes.length);
  if (text[0] !== BRACKET) return undefined;
  const elements: Buffer[] = [];
  for (let start = 1; ;) {
    const end = endOfValue(text, start);
    if (end === text.length || text[end] === BRACE_END) return undefined;
    const isLast = text[end] === BRACKET_END;
    const element = trimmed(text, start, end);
    const isEmptyArray = isLast && element.length === 0 && elements.length === 0;
    if (!isEmptyArray) elements.push(element);
    if (elements.length > most) return elements;
    if (isLast) return end === text.length - 1 ? elements : undefined;
    start = end + 1;
  }
}

/**
 * Returns the bytes of a member's value exactly as they are in the text, so numbers, key order and white space stay as they
 * are; undefined if the object has no such member.
 * @param object text of an object that `parseJson` has accepted, because nothing is checked here
 */
export function memberSource(object: Uint8Array, name: string): Uint8Array | undefined {
  let at = object.indexOf(BRACE) + 1;
  while (at > 0 && at < object.length) {
    const nameStart = object.indexOf(QUOTE, at);
    if (nameStart < 0) return undefined;
    const nameEnd = endOfString(object, nameStart);
    const valueStart = object.indexOf(COLON, nameEnd) + 1;
    const valueEnd = endOfValue(object, valueStart);
    // The name may contain escapes, so it is decoded before it is compared.
    if (JSON.parse(Buffer.from(object.subarray(nameStart, nameEnd)).toString()) === name)
      return trimmed(object, valueStart, valueEnd);
    at = valueEnd + 1;
  }
  return undefined;
}

/** Whether a byte is white space in JSON (RFC 8259 section 2). */
const isSpace = (byte: number | undefined): boolean =>
  byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;

/**
 * Returns the index of the comma or closing bracket after the value; the length of the text if there is none. Nothing else
 * is checked.
 */
function endOfValue(text: Uint8Array, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const byte = text[at];
    if (byte === QUOTE) at = endOfString(text, at) - 1;
    else if (byte === BRACE || byte === BRACKET) depth += 1;
    else if (byte === BRACE_END || byte === BRACKET_END) {
      if (depth === 0) return at;
      depth -= 1;
    } else if (byte === COMMA && depth === 0) return at;
  }
  return text.length;
}

/** Returns the index after the closing quote; the length of the text if there is none. */
function endOfString(text: Uint8Array, quote: number): number {
  for (let at = quote + 1; at < text.length; at += 1) {
    if (text[at] === BACKSLASH) at += 1;
    else if (text[at] === QUOTE) return at + 1;
  }
  return text.length;
}

/** Returns the bytes from `start` to `end` without surrounding white space. */
function trimmed<Bytes extends Uint8Array>(bytes: Bytes, start: number, end: number): Bytes {
  let from = start;
  let to = end;
  while (from < to && isSpace(bytes[from])) from += 1;
  while (to > from && isSpace(bytes[to - 1])) to -= 1;
  return bytes.subarray(from, to) as Bytes;
}
