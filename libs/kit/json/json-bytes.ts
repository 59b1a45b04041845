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

// Each part is an object of its own, far larger than the two bytes that cause it: no more than one is made beyond `most`.

/** The lines of newline-delimited JSON without the blank ones, at most one beyond `most`. */
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
 * The elements of a JSON array with their own bytes, so that numbers and key order survive; at most one beyond `most`, and
 * nothing after it is read. Only the array's own structure is checked: an element that is not JSON spoils no other. Undefined
 * when the text is no array or its brackets do not close.
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

/** Whether a byte is white space (RFC 8259 section 2). */
const isSpace = (byte: number | undefined): boolean =>
  byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Index of the comma or closing bracket that ends the value; the length of the text when none does. Checks nothing else. */
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

/** Index after the closing quote; the length of the text when there is none. */
function endOfString(text: Uint8Array, quote: number): number {
  for (let at = quote + 1; at < text.length; at += 1) {
    if (text[at] === BACKSLASH) at += 1;
    else if (text[at] === QUOTE) return at + 1;
  }
  return text.length;
}

/** The bytes from start to end without white space around them. */
function trimmed<Bytes extends Uint8Array>(bytes: Bytes, start: number, end: number): Bytes {
  let from = start;
  let to = end;
  while (from < to && isSpace(bytes[from])) from += 1;
  while (to > from && isSpace(bytes[to - 1])) to -= 1;
  return bytes.subarray(from, to) as Bytes;
}
