import { randomUUID } from 'node:crypto';
import { deliveryAttemptsTopic, partitionOf, type AttemptRecord } from '@relay/events';
import { AttemptFinder, KeptAdmin, LogFetcher } from '@relay/kafka';
import { Kafka, logLevel, Partitioners, type Admin } from 'kafkajs';
import { makeTopic } from '../support/make-topic.js';
import { until } from '../support/until.js';

// scripts/test.mjs starts the broker and names it.
const broker = (process.env['KAFKA_BROKERS'] ?? '').split(',')[0] ?? '';
const prefix = `more-partitions-${randomUUID()}.`;
const topic = deliveryAttemptsTopic(prefix);
const kafka = new Kafka({ clientId: topic, brokers: [broker], logLevel: logLevel.NOTHING });
const [BEFORE, AFTER] = [2, 5];

describe('the attempts of an envelope, when its topic was given more partitions', () => {
  let admin: Admin;
  /** An envelope whose key belongs to another partition since. */
  const moved = idThat((id) => partitionOf(id, BEFORE) !== partitionOf(id, AFTER));
  /** One that came after, into the partition where the other's key belongs now: what lies elsewhere is from before. */
  const late = idThat(
    (id) => partitionOf(id, BEFORE) !== partitionOf(id, AFTER) && partitionOf(id, AFTER) === partitionOf(moved, AFTER),
  );
  beforeAll(async () => {
    admin = kafka.admin();
    await admin.connect();
    await makeTopic(admin, topic, BEFORE);
    await write(moved, 1, BEFORE);
    await write(
      idThat((id) => partitionOf(id, BEFORE) === partitionOf(moved, BEFORE)),
      1,
      BEFORE,
    );
    await admin.createPartitions({ topicPartitions: [{ topic, count: AFTER }] });
    const answering = async () => (await admin.fetchTopicOffsets(topic).catch(() => [])).length;
    await until('the new ones have leaders', async () => (await answering()) === AFTER);
    for (const [id, attempt] of [
      [moved, 2],
      [late, 1],
      [late, 2],
    ] as const)
      await write(id, attempt, AFTER);
  });
  afterAll(async () => {
    await admin.deleteTopics({ topics: [topic] });
    await admin.disconnect();
  });

  /** When the attempts of an envelope ended. */
  const ended = new Map<string, number[]>();

  function idThat(is: (id: string) => boolean): string {
    for (;;) {
      const id = randomUUID();
      if (is(id)) return id;
    }
  }
  async function write(envelopeId: string, attempt: number, partitions: number): Promise<void> {
    const webhookId = randomUUID();
    const deliveryId = `${webhookId}_${envelopeId}_0123456789abcdef_0_1`;
    const now = Date.now();
    ended.set(envelopeId, [...(ended.get(envelopeId) ?? []), now]);
    const at = new Date(now).toISOString();
    const of = { deliveryId, envelopeId, webhookId, eventType: 'task.created', at, durationMs: 0 };
    const record: AttemptRecord = { ...of, attempt, outcome: 'retry', final: false, status: 500 };
    const partition = partitionOf(envelopeId, partitions);
    // One of its own: it knows as many partitions as there are now.
    const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
    await producer.connect();
    await producer.send({ topic, messages: [{ key: envelopeId, value: JSON.stringify(record), partition }] });
    await producer.disconnect();
  }
  /** The attempts that are found, and the partitions that were read for them. */
  async function read(envelopeId: string) {
    const [fetcher, kept, partitions] = [new LogFetcher(kafka), new KeptAdmin(kafka), new Set<number>()];
    const watched: Pick<LogFetcher, 'fetch' | 'partitions' | 'close'> = {
      fetch: (name, from, bounds) => {
        for (const partition of from.keys()) partitions.add(partition);
        return fetcher.fetch(name, from, bounds);
      },
      partitions: (topics) => fetcher.partitions(topics),
      close: () => fetcher.close(),
    };
    const finder = new AttemptFinder(watched, kept, prefix);
    const records = await finder.find({ envelopeId, moments: ended.get(envelopeId) ?? [] });
    await Promise.all([finder.close(), kept.close()]);
    return { attempts: records.map(({ attempt }) => attempt), partitions: [...partitions] };
  }

  it('are found in the partition that they were written to before', async () => {
    const { attempts, partitions } = await read(moved);
    expect(attempts).toEqual([1, 2]);
    expect(partitions).toContain(partitionOf(moved, BEFORE));
  });

  it('are not looked for elsewhere if the first one is found', async () => {
    expect(await read(late)).toEqual({ attempts: [1, 2], partitions: [partitionOf(late, AFTER)] });
  });
});
