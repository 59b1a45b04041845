const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
const NEWLINE = 0x0a;

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;

// Each part is an object of its own, far larger than the two bytes that bring it about: beyond `most` parts none is made.

/** The lines of newline-delimited JSON as they came, blank ones left out; no more than one beyond `most`. */
export function splitLines(bytes: Buffer, most: number): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < bytes.length && lines.length <= most;) {
    if (isSpace(bytes[start])) {
      start += 1;
      continue;
    }
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline;
    lines.push(trim(bytes, start, end));
    start = end + 1;
  }
  return lines;
}

/**
 * The elements of a JSON array, each with the bytes it came with, so that numbers and key order survive. Only the array's
 * own structure is read here; whether an element is JSON is for whoever reads it, and spoils no other. No more than one
 * beyond `most`: what comes after that is not read. Undefined when the text is no array or its brackets do not close.
 */
export function splitArray(bytes: Buffer, most: number): Buffer[] | undefined {
  const text = trim(bytes, 0, bytes.length);
  if (text[0] !== ARRAY) return undefined;
  const elements: Buffer[] = [];
  let depth = 0;
  let start = 1;
  for (let at = 1; at < text.length; at += 1) {
    const byte = text[at];
    if (byte === QUOTE) {
      at = endOfString(text, at);
    } else if (byte === ARRAY || byte === OBJECT) {
      depth += 1;
    } else if (depth > 0) {
      if (byte === ARRAY_END || byte === OBJECT_END) depth -= 1;
    } else if (byte === COMMA || byte === ARRAY_END) {
      const element = trim(text, start, at);
      const isEmptyArray = byte === ARRAY_END && element.length === 0 && elements.length === 0;
      if (!isEmptyArray) elements.push(element);
      if (elements.length > most) return elements;
      if (byte === ARRAY_END) return at === text.length - 1 ? elements : undefined;
      start = at + 1;
    } else if (byte === OBJECT_END) {
      return undefined;
    }
  }
  return undefined;
}

/** Index of the quote that ends the string; the length of the text when none does. */
function endOfString(text: Buffer, quote: number): number {
  for (let at = quote + 1; at < text.length; at += 1) {
    if (text[at] === BACKSLASH) at += 1;
    else if (text[at] === QUOTE) return at;
  }
  return text.length;
}

function trim(bytes: Buffer, start: number, end: number): Buffer {
  let from = start;
  let to = end;
  while (from < to && isSpace(bytes[from])) from += 1;
  while (to > from && isSpace(bytes[to - 1])) to -= 1;
  return bytes.subarray(from, to);
}
