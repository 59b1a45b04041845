import { randomUUID } from 'node:crypto';
import { connectKafka, EnvelopeFinder, KeptAdmin, LogFetcher } from '@relay/kafka';
import type { Admin, Producer } from 'kafkajs';
import { anEnvelope } from '../support/client.js';
import { makeTopic } from '../support/make-topic.js';

const PARTITIONS = 3;
const prefix = `finder-${randomUUID()}.`;
const eventType = 'plan.updated';
const topic = `${prefix}${eventType}`;
const kafka = connectKafka(
  { KAFKA_BROKERS: (process.env['KAFKA_BROKERS'] ?? '').split(','), KAFKA_CLIENT_ID: prefix },
  () => undefined,
);

let admin: Admin;
let producer: Producer;
const kept = new KeptAdmin(kafka);
const finder = new EnvelopeFinder(new LogFetcher(kafka), kept, prefix);
const fetcher = new LogFetcher(kafka);
beforeAll(async () => {
  [admin, producer] = [kafka.admin(), kafka.producer()];
  await Promise.all([admin.connect(), producer.connect()]);
  await makeTopic(admin, topic, PARTITIONS, { 'message.timestamp.type': 'CreateTime' });
});
afterAll(async () => {
  await Promise.all([finder.close(), fetcher.close(), kept.close()]);
  await admin.deleteTopics({ topics: [topic] });
  await Promise.all([admin.disconnect(), producer.disconnect()]);
});

/** Writes records of these times, each with an envelope of its own, and returns the ids. */
async function write(partition: number, times: readonly number[]): Promise<string[]> {
  const sent = times.map((at) => ({ at, envelope: anEnvelope({ type: eventType }) }));
  const messages = sent.map(({ at, envelope }) => ({
    partition,
    timestamp: String(at),
    value: JSON.stringify(envelope),
    headers: { ce_time: new Date(at).toISOString(), 'relay-source': 'source_a' },
  }));
  await producer.send({ topic, acks: -1, messages });
  return sent.map(({ envelope }) => envelope.id);
}

describe('the record of an envelope', () => {
  const begin = Date.now() - 600_000;

  it('is found by the time of its acceptance, in any partition, without the records before it', async () => {
    await write(
      1,
      Array.from({ length: 200 }, (_, n) => begin - 300_000 + n),
    );
    const times = [begin, begin + 10_000, begin + 20_000];
    const ids = await write(2, times);
    await write(0, times);
    const counts: number[] = [];
    const counting = new LogFetcher(kafka);
    const counted: Pick<LogFetcher, 'fetch' | 'close'> = {
      fetch: async (...asked) => {
        const parts = await counting.fetch(...asked);
        counts.push(...parts.map(({ records }) => records.length));
        return parts;
      },
      close: () => counting.close(),
    };
    const watched = new EnvelopeFinder(counted, kept, prefix);
    const found = await watched.find({ envelopeId: ids[1] ?? '', eventType, acceptedAt: begin + 10_000 });
    await watched.close();
    expect(found).toMatchObject({ topic, partition: 2, acceptedAt: begin + 10_000, envelope: { id: ids[1] } });
    expect(found?.record.offset).toBe(1);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThan(10);
  });

  it('is found if the clock of the broker differs by half a minute, and by an id in capitals', async () => {
    const acceptedAt = begin + 100_000;
    const envelope = anEnvelope({ type: eventType });
    const value = JSON.stringify({ ...envelope, id: envelope.id.toUpperCase() });
    await producer.send({ topic, messages: [{ partition: 0, timestamp: String(acceptedAt + 30_000), value }] });
    expect(await finder.find({ envelopeId: envelope.id, eventType, acceptedAt })).toMatchObject({ partition: 0 });
  });

  it('is not found for an id that is not there', async () => {
    expect(await finder.find({ envelopeId: randomUUID(), eventType, acceptedAt: begin })).toBeUndefined();
    expect(await finder.find({ envelopeId: randomUUID(), eventType, acceptedAt: 0 })).toBeUndefined();
  });
});

describe('a fetch', () => {
  const bounds = { maxBytes: 1024 * 1024, waitMs: 0 };

  it('goes on from the end of the fetch before, and tells the end', async () => {
    await write(1, [Date.now()]);
    const [part] = await fetcher.fetch(topic, new Map([[1, 0]]), { ...bounds, maxBytes: 1_000 });
    expect(part?.records[0]?.offset).toBe(0);
    expect(part?.next).toBe((part?.records.at(-1)?.offset ?? 0) + 1);
    let next = part?.next ?? 0;
    while (next < (part?.end ?? 0)) {
      const [more] = await fetcher.fetch(topic, new Map([[1, next]]), bounds);
      expect(more?.records[0]?.offset).toBe(next);
      next = more?.next ?? Infinity;
    }
    expect(next).toBe(part?.end);
  });

  it('rejects for an offset that is not in the log, and works again afterwards', async () => {
    await expect(fetcher.fetch(topic, new Map([[1, 1_000_000]]), bounds)).rejects.toThrow(/offset/i);
    expect(await fetcher.fetch(topic, new Map([[1, 0]]), bounds)).toHaveLength(1);
  });
});
