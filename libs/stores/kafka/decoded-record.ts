/** The place in a record's bytes that is read next: kafkajs' `Decoder`. */
export interface Cursor {
  readonly buffer: Buffer;
  offset: number;
  /** The number at this place, which may have 64 bits. */
  readVarLong(): { readonly value: bigint };
}

/** The batch of a record, as kafkajs describes it; numbers of 64 bits are texts. */
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

/** The time of each record of such a batch is that of the append. */
const LOG_APPEND_TIME = 1;
/** Groups of seven bits that a number holds exactly. */
const EXACT_BITS = 49;

/** One record of a batch of format 2 (KIP-98), behind its length, as kafkajs hands it to the consumer. */
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
    // An assignment to this name sets the prototype.
    if (name === '__proto__') Object.defineProperty(headers, name, { value: all, ...PLAIN });
    else headers[name] = all;
  }
  return headers;
}

const PLAIN = { enumerable: true, configurable: true, writable: true };

/**
 * The names of the last record's headers by their position. Records of one topic have the same names in the same order, and a
 * name that is a property elsewhere is set eight times as fast as a new text.
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
  // If a name has as many characters as bytes, each character equals its byte, or is U+FFFD for a byte that is no UTF-8. Bytes never
  // equal U+FFFD, so `isAt` does not match such a name.
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

/** A zigzag number of 32 bits. */
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

/** A zigzag number of 64 bits. */
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
