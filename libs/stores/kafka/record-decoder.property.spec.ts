import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { jest } from '@jest/globals';
import fc from 'fast-check';

/** Of kafkajs' encoder, what writes a record. */
interface Encoder {
  readonly buffer: Buffer;
  writeInt8(value: number): Encoder;
  writeVarInt(value: number): Encoder;
  writeVarLong(value: bigint): Encoder;
  writeVarIntBytes(value: Buffer | null): Encoder;
  writeVarIntString(value: string | null): Encoder;
}
type Decode = (cursor: object) => Promise<{ headers: object }[]>;
type Of<A> = A extends fc.Arbitrary<infer T> ? T : never;

const require = createRequire(import.meta.url);
const protocol = 'kafkajs/src/protocol';
const Encoder = require(`${protocol}/encoder`) as new () => Encoder;
const Decoder = require(`${protocol}/decoder`) as new (bytes: Buffer) => object;

/** The decoder of what a fetch has of a partition, of kafkajs as it is or as it is mended. */
function decoderOf(isMended: boolean): Promise<Decode> {
  jest.resetModules();
  const mended = isMended ? import('./kafkajs-mends.adapter.js') : Promise.resolve();
  return mended.then(() => require(`${protocol}/requests/fetch/v4/decodeMessages`) as Decode);
}

const GZIP = 1;
const bytes = fc.option(
  fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
  { nil: null },
);
const names = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.constantFrom('a', '__proto__', 'constructor', 'toString', '1', ''),
);
const header = fc.tuple(fc.option(names, { nil: null }), bytes);
const INT_64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
const INT_32 = { min: -(2 ** 31), max: 2 ** 31 - 1 };
const long = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 41n }),
  fc.bigInt(INT_64),
  fc.constantFrom(INT_64.min, INT_64.max, 2n ** 53n - 1n, 2n ** 53n, 2n ** 48n - 1n, 2n ** 48n, -(2n ** 48n), -1n),
);
const int = fc.oneof(fc.nat({ max: 1_000 }), fc.integer(INT_32), fc.constantFrom(INT_32.min, INT_32.max, 63, 64, -64));

const record = fc.record({
  attributes: fc.integer({ min: -128, max: 127 }),
  timestampDelta: long,
  offsetDelta: int,
  key: bytes,
  value: bytes,
  headers: fc.array(header, { maxLength: 12 }),
});
const batch = fc.record({
  firstOffset: long,
  firstTimestamp: long,
  maxTimestamp: long,
  // Compression by codec, the time of the append (8), a transaction (16), Kafka's own markers (32).
  attributes: fc.tuple(fc.constantFrom(0, 0, GZIP, 5), fc.constantFrom(0, 8), fc.constantFrom(0, 16, 48, 32)),
  records: fc.array(record, { maxLength: 8 }),
});

function recordOf({ attributes, timestampDelta, offsetDelta, key, value, headers }: Of<typeof record>): Buffer {
  const encoder = new Encoder().writeInt8(attributes).writeVarLong(timestampDelta).writeVarInt(offsetDelta);
  encoder.writeVarIntBytes(key).writeVarIntBytes(value).writeVarInt(headers.length);
  for (const [name, held] of headers) encoder.writeVarIntString(name).writeVarIntBytes(held);
  return new Encoder().writeVarIntBytes(encoder.buffer).buffer;
}

/** A batch of format 2; no checksum, since kafkajs reads none. */
function batchOf(given: Of<typeof batch>): Buffer {
  const attributes = given.attributes.reduce<number>((sum, flag) => sum | flag, 0);
  const head = Buffer.alloc(61);
  const records = Buffer.concat(given.records.map(recordOf));
  const body = (attributes & 7) === GZIP ? gzipSync(records) : records;
  head.writeBigInt64BE(given.firstOffset, 0);
  head.writeInt32BE(head.length - 12 + body.length, 8);
  head.writeInt8(2, 16);
  head.writeInt16BE(attributes, 21);
  head.writeBigInt64BE(given.firstTimestamp, 27);
  head.writeBigInt64BE(given.maxTimestamp, 35);
  head.writeInt32BE(given.records.length, 57);
  return Buffer.concat([head, body]);
}

/** What a decoder makes of a partition's bytes, a failure included. */
async function decoded(decode: Decode, set: Buffer): Promise<unknown> {
  const size = Buffer.alloc(4);
  size.writeInt32BE(set.length);
  try {
    const records = await decode(new Decoder(Buffer.concat([size, set])));
    // As entries: a header may have the name __proto__ or constructor, to which Jest gives a meaning.
    return records.map((one) => Object.assign({}, one, { headers: Object.entries(one.headers) }));
  } catch (error) {
    return String(error);
  }
}

describe("kafkajs' decoder of records", () => {
  it('reads the same as before it was mended', async () => {
    const before = await decoderOf(false);
    const after = await decoderOf(true);
    expect(after).not.toBe(before);
    const sets = fc.array(batch, { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(sets, fc.nat({ max: 100 }), async (batches, cut) => {
        const whole = Buffer.concat(batches.map(batchOf));
        // The last batch of a fetch is whatever of it fits.
        for (const set of [whole, whole.subarray(0, Math.max(0, whole.length - cut))])
          expect(await decoded(after, set)).toStrictEqual(await decoded(before, set));
      }),
      { numRuns: 500 },
    );
  });

  it('reads every length of a number as before', async () => {
    const before = await decoderOf(false);
    const after = await decoderOf(true);
    const powers = Array.from({ length: 63 }, (_, bit) => 2n ** BigInt(bit));
    const longs = powers.flatMap((power) => [power - 1n, power, -power, -power - 1n]);
    const records = longs.map((timestampDelta) => ({
      attributes: 0,
      timestampDelta,
      offsetDelta: Number(BigInt.asIntN(32, timestampDelta)),
      key: null,
      value: null,
      headers: [],
    }));
    const set = batchOf({
      firstOffset: 7n,
      firstTimestamp: 1_795_000_000_000n,
      maxTimestamp: 0n,
      attributes: [0, 0, 0],
      records,
    });
    const expected = await decoded(before, set);
    expect(expected).toHaveLength(longs.length);
    expect(await decoded(after, set)).toStrictEqual(expected);
  });
});
