import * as fc from 'fast-check';
import { Partitioners } from 'kafkajs';
import { partitionOf } from './index.js';
import { murmur2 } from './topic.js';

function kafkajsPartition(key: Buffer, partitions: number): number {
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
    partitionErrorCode: 0,
    partitionId,
    leader: 0,
    replicas: [0],
    isr: [0],
  }));
  return Partitioners.DefaultPartitioner()({ topic: 'any', partitionMetadata, message: { key, value: null } });
}
/** Any character; fast-check's own unit `binary` takes a second to set up. */
const character = fc
  .oneof(fc.nat(0x7f), fc.nat(0x10ffff))
  .map((point) => Buffer.from(String.fromCodePoint(point)).toString());

describe('murmur2', () => {
  // The vectors of UtilsTest.testMurmur2 in Apache Kafka.
  it.each([
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ])('hashes %s as the Java client does', (text, expected) => {
    expect(murmur2(Buffer.from(text))).toBe(expected);
  });
});

describe('partitionOf', () => {
  it('agrees with the default partitioner of kafkajs for any key', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.integer({ min: 1, max: 48 }), (bytes, partitions) => {
        const key = Buffer.from(bytes);
        expect(partitionOf(key, partitions)).toBe(kafkajsPartition(key, partitions));
      }),
      { numRuns: 500 },
    );
  });

  it('takes a string for its UTF-8 bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: character }), (key) => {
        expect(partitionOf(key, 6)).toBe(partitionOf(Buffer.from(key, 'utf8'), 6));
      }),
    );
  });

  it('spreads UUIDs over all partitions', () => {
    const keys = fc.sample(fc.uuid(), { numRuns: 600, seed: 1 });
    const counts = Array.from(
      { length: 6 },
      (_, partition) => keys.filter((key) => partitionOf(key, 6) === partition).length,
    );
    expect(Math.min(...counts)).toBeGreaterThan(60);
  });
});
