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
  const ascii = asciiOf(headers);
  const fields = ascii === undefined ? fieldsOf(headers) : [];
  const count = ascii?.count ?? fields.length / 2;

  let size = 1 + varIntSize(timestampDelta) + varIntSize(offsetDelta) + varIntSize(count) + sizeOf(key) + sizeOf(value);
  size += ascii?.text.length ?? 0;
  for (const field of fields) size += sizeOf(field);
  const bytes = Buffer.allocUnsafe(varIntSize(size) + size);

  let at = writeVarInt(bytes, 0, size);
  bytes[at] = 0; // attributes: none are defined
  at = writeVarInt(bytes, at + 1, timestampDelta);
  at = writeVarInt(bytes, at, offsetDelta);
  at = write(bytes, at, key);
  at = write(bytes, at, value);
  at = writeVarInt(bytes, at, count);
  if (ascii !== undefined) bytes.write(ascii.text, at, 'latin1');
  for (const field of fields) at = write(bytes, at, field);
  return bytes;
}

type Headers = NonNullable<UnencodedRecord['headers']>;

/** Names and values in turn. */
function fieldsOf(headers: Headers): (Text | null)[] {
  const fields: (Text | null)[] = [];
  for (const name in headers) {
    const value = headers[name] ?? null;
    if (Array.isArray(value)) for (const one of value as readonly Text[]) fields.push(name, one);
    else fields.push(name, value as Text | null);
  }
  return fields;
}

/**
 * The number of headers, and their bytes as a text with one character for each; undefined unless all are ASCII texts, as those of
 * envelopes are. They take half the time of single writes.
 */
function asciiOf(headers: Headers): { count: number; text: string } | undefined {
  let count = 0;
  let text = '';
  // Bytes of lengths over 127; in UTF-8 each of them would take two.
  let high = 0;
  for (const name in headers) {
    const value = headers[name];
    if (typeof value !== 'string' || Math.max(name.length, value.length) >= LENGTHS.length) return undefined;
    count += 1;
    high += Number(name.length > 63) + Number(value.length > 63);
    text += `${LENGTHS[name.length]}${name}${LENGTHS[value.length]}${value}`;
  }
  return Buffer.byteLength(text) === text.length + high ? { count, text } : undefined;
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

/** The variable-length integers of lengths below 8,192, which have one or two bytes, as texts. */
const LENGTHS = Array.from({ length: 8_192 }, (_, length) => {
  const bytes = Buffer.alloc(2);
  return bytes.toString('latin1', 0, writeVarInt(bytes, 0, length));
});
