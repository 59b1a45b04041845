interface UnencodedPartition {
  readonly partition: number;
  readonly messages: readonly (UnencodedRecord & { readonly timestamp?: unknown })[];
  readonly firstSequence?: number;
}

/** A produce request, as kafkajs passes it to its encoder. */
export interface UnencodedProduce {
  readonly acks: number;
  readonly timeout: number;
  readonly transactionalId?: string | null;
  /** A number, a text of digits, or a long integer of kafkajs. */
  readonly producerId?: number | string | { toString(): string };
  readonly producerEpoch?: number;
  readonly compression?: number;
  readonly topicData: readonly { readonly topic: string; readonly partitions: readonly UnencodedPartition[] }[];
}

const BATCH_BYTES = 61;
/**
 * Positions in a batch: its length counts the bytes from the first position on, its checksum covers the bytes from the
 * second on.
 */
const [COUNTED, COVERED] = [12, 21];
const MAGIC = 2;
const TRANSACTIONAL = 16;

/**
 * Whether `produceBytes` can encode the request. It supports no compression and no given timestamps, which the relay does
 * not use.
 */
export const isPlain = ({ compression = 0, topicData }: UnencodedProduce): boolean =>
  compression === 0 &&
  topicData.every(({ partitions }) =>
    partitions.every(({ messages }) => messages.every(({ timestamp }) => timestamp === undefined)),
  );

export function produceBytes(request: UnencodedProduce, now: number): Buffer {
  const { acks, timeout, transactionalId = null, producerId = -1, producerEpoch = 0, topicData } = request;
  const producer = BigInt(String(producerId));
  const attributes = transactionalId === null || transactionalId === '' ? 0 : TRANSACTIONAL;
  let size = 2 + lengthOf(transactionalId) + 2 + 4 + 4;
  const topics = topicData.map(({ topic, partitions }) => {
    size += 2 + lengthOf(topic) + 4;
    const batches = partitions.map(({ partition, messages, firstSequence = 0 }) => {
      const records = messages.map(({ key = null, value, headers = {} }, offsetDelta) =>
        recordBytes({ key, value, headers, offsetDelta }),
      );
      const length = records.reduce((sum, record) => sum + record.length, BATCH_BYTES);
      size += 4 + 4 + length;
      return { partition, firstSequence, records, length };
    });
    return { topic, batches };
  });

  const bytes = Buffer.allocUnsafe(size);
  let at = writeText(bytes, 0, transactionalId);
  at = bytes.writeInt16BE(acks, at);
  at = bytes.writeInt32BE(timeout, at);
  at = bytes.writeInt32BE(topics.length, at);
  for (const { topic, batches } of topics) {
    at = writeText(bytes, at, topic);
    at = bytes.writeInt32BE(batches.length, at);
    for (const { partition, firstSequence, records, length } of batches) {
      at = bytes.writeInt32BE(partition, at);
      at = bytes.writeInt32BE(length, at);
      const start = at;
      at = bytes.writeBigInt64BE(0n, at); // first offset: the broker sets it
      at = bytes.writeInt32BE(length - COUNTED, at);
      at = bytes.writeInt32BE(0, at); // epoch of the leader: the broker sets it
      at = bytes.writeInt8(MAGIC, at) + 4;
      at = bytes.writeInt16BE(attributes, at);
      at = bytes.writeInt32BE(records.length - 1, at);
      at = bytes.writeBigInt64BE(BigInt(now), at); // time of the first record
      at = bytes.writeBigInt64BE(BigInt(now), at); // time of the last record
      at = bytes.writeBigInt64BE(producer, at);
      at = bytes.writeInt16BE(producerEpoch, at);
      at = bytes.writeInt32BE(firstSequence, at);
      at = bytes.writeInt32BE(records.length, at);
      for (const record of records) at += record.copy(bytes, at);
      bytes.writeUInt32BE(crc32c(bytes, start + COVERED, at), start + COVERED - 4);
    }
  }
  return bytes;
}

const lengthOf = (text: string | null): number => (text === null ? 0 : Buffer.byteLength(text));

function writeText(bytes: Buffer, at: number, text: string | null): number {
  if (text === null) return bytes.writeInt16BE(-1, at);
  const start = bytes.writeInt16BE(lengthOf(text), at);
  return start + bytes.write(text, start);
}

/** The Castagnoli polynomial with its bits reversed, as Kafka and iSCSI (RFC 3720) use it. */
const POLYNOMIAL = 0x82f63b78;

/**
 * Lookup tables for `crc32c`, which processes eight bytes in one step (slicing-by-8). There is one table for each of the
 * eight positions of a byte. It has the remainder of each byte value at this position, divided by the polynomial.
 */
const TABLE = new Int32Array(8 * 256);
for (let byte = 0; byte < 256; byte += 1) {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) rest = (rest & 1) === 1 ? (rest >>> 1) ^ POLYNOMIAL : rest >>> 1;
  TABLE[byte] = rest;
}
for (let at = 256; at < TABLE.length; at += 1) {
  const before = of(at - 256);
  TABLE[at] = of(before & 0xff) ^ (before >>> 8);
}

function of(at: number): number {
  return TABLE[at] as number;
}

/** Returns the CRC-32C of the bytes from `start` to before `end`. It takes eight bytes in one step. */
function crc32c(bytes: Uint8Array, start: number, end: number): number {
  const byte = (at: number): number => bytes[at] as number;
  let rest = -1;
  let at = start;
  for (; at + 8 <= end; at += 8) {
    rest ^= byte(at) | (byte(at + 1) << 8) | (byte(at + 2) << 16) | (byte(at + 3) << 24);
    rest =
      of(0x700 + (rest & 0xff)) ^
      of(0x600 + ((rest >>> 8) & 0xff)) ^
      of(0x500 + ((rest >>> 16) & 0xff)) ^
      of(0x400 + (rest >>> 24)) ^
      of(0x300 + byte(at + 4)) ^
      of(0x200 + byte(at + 5)) ^
      of(0x100 + byte(at + 6)) ^
      of(byte(at + 7));
  }
  for (; at < end; at += 1) rest = of((rest ^ byte(at)) & 0xff) ^ (rest >>> 8);
  return ~rest >>> 0;
}

type Text = Buffer | string;

/** A record, as kafkajs passes it to its encoder. */
export interface UnencodedRecord {
  readonly offsetDelta?: number;
  readonly timestampDelta?: number;
  readonly key?: Text | null;
  readonly value: Text | null;
  readonly headers?: Readonly<Record<string, Text | readonly Text[] | null>>;
}

/**
 * Encodes one record of a batch of format 2 (KIP-98), with its length in front. An array contains the values of a repeated
 * header.
 */
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

/** Returns the names and values of the headers, alternately. */
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
 * Returns the number of headers, and their bytes as a text with one character for each byte; undefined unless all headers
 * are ASCII texts, like those of envelopes. To write this text takes half the time of writing each header.
 */
function asciiOf(headers: Headers): { count: number; text: string } | undefined {
  let count = 0;
  let text = '';
  // Number of length bytes above 127. UTF-8 encodes each of them in two bytes.
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

const bytesOf = (text: Text): number => (typeof text === 'string' ? Buffer.byteLength(text) : text.length);

function sizeOf(text: Text | null): number {
  if (text === null) return varIntSize(-1);
  const length = bytesOf(text);
  return varIntSize(length) + length;
}

function write(bytes: Buffer, at: number, text: Text | null): number {
  if (text === null) return writeVarInt(bytes, at, -1);
  const start = writeVarInt(bytes, at, bytesOf(text));
  return start + (typeof text === 'string' ? bytes.write(text, start) : text.copy(bytes, start));
}

/**
 * Zigzag encoding gives small negative numbers a short form. It is done by arithmetic, because a time delta may exceed 32
 * bits.
 */
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

/** The variable-length integers of lengths below 8,192, as texts. Each has one or two bytes. */
const LENGTHS = Array.from({ length: 8_192 }, (_, length) => {
  const bytes = Buffer.alloc(2);
  return bytes.toString('latin1', 0, writeVarInt(bytes, 0, length));
});
