import { BRACE_END, BRACKET, BRACKET_END, endOfValue, isSpace, trimmed } from './json-bytes.js';

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
