import { createRequire } from 'node:module';
import { jest } from '@jest/globals';
import fc from 'fast-check';
import { isPlain, produceBytes, type UnencodedProduce } from './produce-bytes.js';

type KafkajsRequest = (request: UnencodedProduce) => { encode: () => Promise<{ buffer: Buffer }> };
const kafkajs = createRequire(import.meta.url)('kafkajs/src/protocol/requests/produce/v3/request') as KafkajsRequest;

const NOW = 1_800_000_000_000;
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const text = fc.string({ unit: 'grapheme', maxLength: 200 });
const message = fc.record({
  key: fc.option(text, { nil: null }),
  value: fc.option(bytes, { nil: null }),
  headers: fc.dictionary(fc.string({ unit: 'grapheme', minLength: 1 }), text),
});
const partition = fc.record(
  { partition: fc.nat(100), messages: fc.array(message, { minLength: 1, maxLength: 12 }), firstSequence: fc.nat() },
  { requiredKeys: ['partition', 'messages'] },
);
const topic = fc.record({ topic: text, partitions: fc.array(partition, { maxLength: 4 }) });
const request = fc.record(
  {
    acks: fc.constantFrom(-1, 0, 1),
    timeout: fc.nat(),
    transactionalId: fc.option(text, { nil: null }),
    producerId: fc.oneof(fc.constant(-1), fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String)),
    producerEpoch: fc.nat(32_767),
    topicData: fc.array(topic, { maxLength: 3 }),
  },
  { requiredKeys: ['acks', 'timeout', 'topicData'] },
);

describe('produceBytes', () => {
  beforeAll(() => jest.spyOn(Date, 'now').mockReturnValue(NOW));
  afterAll(() => jest.restoreAllMocks());

  it('writes the same bytes as kafkajs', async () => {
    await fc.assert(
      fc.asyncProperty(request, async (given) => {
        const { buffer } = await kafkajs(given).encode();
        expect(produceBytes(given, NOW).equals(buffer)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['records without times', {}, {}, true],
    ['a compression', { compression: 1 }, {}, false],
    ['a record with a time', {}, { timestamp: String(NOW) }, false],
  ])('tells whether it can write %s', (_name, ofRequest, ofMessage, expected) => {
    const messages = [{ value: Buffer.from('x'), ...ofMessage }];
    const topicData = [{ topic: 't', partitions: [{ partition: 0, messages }] }];
    expect(isPlain({ acks: -1, timeout: 1, topicData, ...ofRequest })).toBe(expected);
  });
});
