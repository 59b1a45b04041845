/** Bytes of a record and the position from which to read next, in the form of kafkajs' `Decoder`. */
export interface Cursor {
  readonly buffer: Buffer;
  offset: number;
  /** Reads the number at this position, which may have 64 bits. */
  readVarLong(): { readonly value: bigint };
}

/** The batch of a record, as kafkajs describes it. Numbers of 64 bits are texts. */
export interface BatchContext {
  readonly firstOffset: string;
  readonly firstTimestamp: string;
  readonly maxTimestamp: string;
  readonly timestampType: number;
  readonly isControlBatch: boolean;
  readonly magicByte: number;
}

export type Headers = Record<string, HeaderValue>;
type HeaderValue = Buffer | null | (Buffer | null)[];

/** Timestamp type of a batch whose records all have the time of their append. */
const LOG_APPEND_TIME = 1;
/** Integers of at most this many bits are decoded as JavaScript numbers, which are exact for them. A multiple of seven. */
const EXACT_BITS = 49;

/**
 * Decodes one record of a batch of format 2 (KIP-98), from the byte after its length on. Returns what kafkajs gives a
 * consumer.
 */
export function decodedRecord(cursor: Cursor, context: BatchContext) {
  const { magicByte, firstOffset, firstTimestamp, maxTimestamp, timestampType, isControlBatch } = context;
  const attributes = cursor.buffer.readInt8(cursor.offset);
  cursor.offset += 1;
  const later = sum(firstTimestamp, readLong(cursor));
  return {
    magicByte,
    attributes,
    timestamp: timestampType === LOG_APPEND_TIME && maxTimestamp !== '' ? maxTimestamp : later,
    offset: sum(firstOffset, readInt(cursor)),
    key: readBytes(cursor),
    value: readBytes(cursor),
    headers: readHeaders(cursor),
    isControlRecord: isControlBatch,
    batchContext: context,
  };
}

function readHeaders(cursor: Cursor): Headers {
  const headers: Headers = {};
  const count = readInt(cursor);
  for (let position = 0; position < count; position += 1) {
    const name = readName(cursor, position);
    const value = readBytes(cursor);
    const before = headers[name];
    const all = before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value];
    // A plain assignment to `__proto__` sets the prototype of the object instead of a header.
    if (name === '__proto__') Object.defineProperty(headers, name, { value: all, ...PLAIN });
    else headers[name] = all;
  }
  return headers;
}

const PLAIN = { enumerable: true, configurable: true, writable: true };

/**
 * The header names of the last record, by position. Records of one topic have the same names in the same order. To set a
 * property whose name is such a known string is eight times as fast as with a new string.
 */
const lastNames: string[] = [];
const MAX_NAMES = 16;
const MAX_NAME_LENGTH = 64;

function readName(cursor: Cursor, position: number): string {
  const length = readInt(cursor);
  if (length === -1) return 'null';
  const { buffer, offset: start } = cursor;
  cursor.offset += length;
  const last = lastNames[position];
  if (last?.length === length && isAt(buffer, start, last)) return last;
  const name = buffer.toString('utf8', start, cursor.offset);
  // A name is kept only if it has as many characters as bytes. Then each character equals its byte, or is U+FFFD for an
  // invalid byte. No byte equals U+FFFD, so `isAt` never matches a name with an invalid byte.
  if (position < MAX_NAMES && length <= MAX_NAME_LENGTH && name.length === length) lastNames[position] = name;
  return name;
}

function isAt(buffer: Buffer, start: number, text: string): boolean {
  for (let index = 0; index < text.length; index += 1)
    if (buffer[start + index] !== text.charCodeAt(index)) return false;
  return true;
}

function readBytes(cursor: Cursor): Buffer | null {
  const length = readInt(cursor);
  if (length === -1) return null;
  const start = cursor.offset;
  cursor.offset += length;
  return cursor.buffer.subarray(start, cursor.offset);
}

/** Reads a zigzag-encoded number of 32 bits. */
function readInt(cursor: Cursor): number {
  const { buffer } = cursor;
  let byte = buffer[cursor.offset++] ?? 0;
  let bits = byte & 0x7f;
  for (let shift = 7; byte >= 0x80; shift += 7) {
    byte = buffer[cursor.offset++] ?? 0;
    bits += (byte & 0x7f) << shift;
  }
  return (bits >>> 1) ^ -(bits & 1);
}

/** Reads a zigzag-encoded number of 64 bits. */
function readLong(cursor: Cursor): number | bigint {
  const start = cursor.offset;
  const { buffer } = cursor;
  let at = start;
  let bits = 0;
  for (let shift = 0; shift < EXACT_BITS; shift += 7) {
    const byte = buffer[at++] ?? 0;
    bits += (byte & 0x7f) * 2 ** shift;
    if (byte >= 0x80) continue;
    cursor.offset = at;
    return bits % 2 === 0 ? bits / 2 : -(bits + 1) / 2;
  }
  return cursor.readVarLong().value;
}

function sum(first: string, delta: number | bigint): string {
  const exact = typeof delta === 'number' ? Number(first) + delta : Number.NaN;
  const isExact = Number.isSafeInteger(exact) && Number.isSafeInteger(Number(first));
  return isExact ? String(exact) : String(BigInt(first) + BigInt(delta));
}
