import { createRequire } from 'node:module';
import fc from 'fast-check';
import { recordBytes, type UnencodedRecord } from './produce-bytes.js';

type KafkajsEncoder = (record: UnencodedRecord) => { buffer: Buffer };
const kafkajs = createRequire(import.meta.url)('kafkajs/src/protocol/recordBatch/record/v0') as KafkajsEncoder;

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const text = fc.oneof(bytes, fc.string({ unit: 'grapheme', maxLength: 200 }));
const optional = fc.option(text, { nil: null });
const headers = fc.dictionary(fc.string({ unit: 'grapheme', minLength: 1 }), fc.oneof(text, fc.array(text)));

describe('recordBytes', () => {
  it('writes the same bytes as kafkajs', () => {
    const record = fc.record(
      {
        offsetDelta: fc.nat(),
        timestampDelta: fc.integer({ min: -(2 ** 40), max: 2 ** 40 }),
        key: optional,
        value: optional,
        headers,
      },
      { requiredKeys: ['value'] },
    );
    fc.assert(
      fc.property(record, (given) => {
        expect(recordBytes(given).equals(kafkajs(given).buffer)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it.each([0, 1, 63, 64, 8_191, 8_192, 1_048_575, 1_048_576])('writes a value of %d bytes as kafkajs does', (size) => {
    const record = { value: Buffer.alloc(size, 'x') };
    expect(recordBytes(record).equals(kafkajs(record).buffer)).toBe(true);
  });

  it('writes a header without a value with length -1, unlike kafkajs, which fails', () => {
    expect([...recordBytes({ value: null, headers: { a: null } })]).toStrictEqual([18, 0, 0, 0, 1, 1, 2, 2, 97, 1]);
  });
});
