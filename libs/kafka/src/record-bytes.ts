type Text = Buffer | string;

/** A record as kafkajs hands it to its encoder. */
export interface UnencodedRecord {
  readonly offsetDelta?: number;
  readonly timestampDelta?: number;
  readonly key?: Text | null;
  readonly value: Text | null;
  readonly headers?: Readonly<Record<string, Text | readonly Text[] | null>>;
}

/** One record of a batch of format 2 (KIP-98), its length in front; a repeated header comes as an array. */
export function recordBytes(record: UnencodedRecord): Buffer {
  const { offsetDelta = 0, timestampDelta = 0, key = null, value, headers = {} } = record;
  const fields: (Text | null)[] = [];
  for (const name in headers) {
    const held = headers[name] ?? null;
    if (Array.isArray(held)) for (const one of held as readonly Text[]) fields.push(name, one);
    else fields.push(name, held as Text | null);
  }
  const count = fields.length / 2;

  let size = 1 + varIntSize(timestampDelta) + varIntSize(offsetDelta) + varIntSize(count) + sizeOf(key) + sizeOf(value);
  for (const field of fields) size += sizeOf(field);
  const bytes = Buffer.allocUnsafe(varIntSize(size) + size);

  let at = writeVarInt(bytes, 0, size);
  bytes[at] = 0; // attributes: none are defined
  at = writeVarInt(bytes, at + 1, timestampDelta);
  at = writeVarInt(bytes, at, offsetDelta);
  at = write(bytes, at, key);
  at = write(bytes, at, value);
  at = writeVarInt(bytes, at, count);
  for (const field of fields) at = write(bytes, at, field);
  return bytes;
}

const lengthOf = (text: Text): number => (typeof text === 'string' ? Buffer.byteLength(text) : text.length);

function sizeOf(text: Text | null): number {
  if (text === null) return varIntSize(-1);
  const length = lengthOf(text);
  return varIntSize(length) + length;
}

function write(bytes: Buffer, at: number, text: Text | null): number {
  if (text === null) return writeVarInt(bytes, at, -1);
  const start = writeVarInt(bytes, at, lengthOf(text));
  return start + (typeof text === 'string' ? bytes.write(text, start) : text.copy(bytes, start));
}

/** Zigzag, so that small negative numbers stay small. By arithmetic, since a time delta may exceed 32 bits. */
const zigzag = (value: number): number => (value < 0 ? -2 * value - 1 : 2 * value);

function varIntSize(value: number): number {
  let size = 1;
  for (let rest = zigzag(value); rest >= 0x80; rest = Math.floor(rest / 0x80)) size += 1;
  return size;
}

function writeVarInt(bytes: Buffer, start: number, value: number): number {
  let at = start;
  let rest = zigzag(value);
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes[at++] = (rest % 0x80) | 0x80;
  bytes[at] = rest;
  return at + 1;
}
