import { randomUUID } from 'node:crypto';
import { deliveryAttemptsTopic, type AttemptRecord } from '@relay/events';
import { AttemptFinder, connectKafka, KeptAdmin, LogFetcher } from '@relay/kafka';
import type { Admin, Producer } from 'kafkajs';
import { makeTopic } from '../support/make-topic.js';

const prefix = `attempts-${randomUUID()}.`;
const topic = deliveryAttemptsTopic(prefix);
const kafka = connectKafka(
  { KAFKA_BROKERS: (process.env['KAFKA_BROKERS'] ?? '').split(','), KAFKA_CLIENT_ID: prefix },
  () => undefined,
);
const [webhookId, envelopeId] = [randomUUID(), randomUUID()];
const HOUR = 3_600_000;
const begin = Date.now() - 20 * HOUR;

let admin: Admin;
let producer: Producer;
const [fetcher, kept] = [new LogFetcher(kafka), new KeptAdmin(kafka)];
/** Records that were read since it was emptied. */
let read = 0;
const watched: Pick<LogFetcher, 'fetch' | 'partitions' | 'close'> = {
  fetch: async (...asked) => {
    const parts = await fetcher.fetch(...asked);
    read += parts.reduce((sum, { records }) => sum + records.length, 0);
    return parts;
  },
  partitions: (topics) => fetcher.partitions(topics),
  close: () => fetcher.close(),
};
const finder = new AttemptFinder(watched, kept, prefix);

const anAttempt = (of: string, hours: number, changes: Partial<AttemptRecord> = {}): AttemptRecord => ({
  deliveryId: `${webhookId}_${of}_0123456789abcdef_0_${begin}`,
  envelopeId: of,
  webhookId,
  eventType: 'task.created',
  at: new Date(begin + hours * HOUR).toISOString(),
  attempt: 1,
  durationMs: 40,
  outcome: 'retry',
  final: false,
  ...changes,
});
/** Stores a record so late after the end of its attempt. */
const messageOf = (record: AttemptRecord, lateMs = 150) => ({
  key: record.envelopeId,
  partition: 0,
  timestamp: String(Date.parse(record.at) + 40 + lateMs),
  value: JSON.stringify(record),
});

beforeAll(async () => {
  [admin, producer] = [kafka.admin(), kafka.producer()];
  await Promise.all([admin.connect(), producer.connect()]);
  await makeTopic(admin, topic, 1, { 'message.timestamp.type': 'CreateTime' });
  const attempts = [
    anAttempt(envelopeId, 1, { nextAt: new Date(begin + 2 * HOUR).toISOString() }),
    anAttempt(envelopeId, 2, { attempt: 2, nextAt: new Date(begin + 9 * HOUR).toISOString() }),
    anAttempt(envelopeId, 9, { attempt: 3, outcome: 'dead-letter', final: true }),
  ];
  for (let hour = 0; hour < 10; hour += 1) {
    // One batch of them is more than what is fetched at once.
    const detail = 'x'.repeat(2_000);
    const others = Array.from({ length: 300 }, (_, n) =>
      messageOf(anAttempt(randomUUID(), hour + n / 400, { detail })),
    );
    const own = attempts.filter(({ at }) => Date.parse(at) === begin + hour * HOUR);
    await producer.send({ topic, acks: -1, messages: [...own.map((record) => messageOf(record)), ...others] });
  }
});
afterAll(async () => {
  await Promise.all([finder.close(), kept.close()]);
  await admin.deleteTopics({ topics: [topic] });
  await Promise.all([admin.disconnect(), producer.disconnect()]);
});
beforeEach(() => (read = 0));

const momentOf = (hours: number): number => begin + hours * HOUR + 40;
const find = async (moments: number[]): Promise<(number | undefined)[]> =>
  (await finder.find({ envelopeId, moments })).map(({ attempt }) => attempt);

describe('the attempts of an envelope', () => {
  it('are found by their times, without the records between them', async () => {
    expect(await find([1, 2, 9].map(momentOf))).toEqual([1, 2, 3]);
    expect(read).toBeLessThan(1_000);
  });

  it('are followed from the first one by the times of the next', async () => {
    expect(await find([momentOf(1)])).toEqual([1, 2, 3]);
  });

  it('are found if the log has them a minute late, and are not taken from another envelope', async () => {
    const id = randomUUID();
    const late = anAttempt(id, 12, { outcome: 'delivered', final: true });
    await producer.send({ topic, acks: -1, messages: [messageOf(late, 60_000)] });
    expect(await finder.find({ envelopeId: id, moments: [momentOf(12)] })).toEqual([late]);
    expect(await finder.find({ envelopeId: randomUUID(), moments: [momentOf(12)] })).toEqual([]);
  });
});
