import { randomUUID } from 'node:crypto';
import { partitionOf, type AttemptRecord } from '@relay/events';
import { Kafka, logLevel, Partitioners, type Admin } from 'kafkajs';
import { readAttempts } from '../../apps/cli/src/deliveries/attempt-reader.adapter.js';
import { makeTopic } from '../support/make-topic.js';
import { until } from '../support/until.js';

// scripts/test.mjs starts the broker and names it.
const broker = (process.env['KAFKA_BROKERS'] ?? '').split(',')[0] ?? '';
const topic = `more-partitions-${randomUUID()}`;
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

  function idThat(is: (id: string) => boolean): string {
    for (;;) {
      const id = randomUUID();
      if (is(id)) return id;
    }
  }
  async function write(envelopeId: string, attempt: number, partitions: number): Promise<void> {
    const webhookId = randomUUID();
    const deliveryId = `${webhookId}_${envelopeId}_0123456789abcdef_0_1`;
    const of = { deliveryId, envelopeId, webhookId, eventType: 'task.created', at: new Date().toISOString() };
    const record: AttemptRecord = { ...of, attempt, outcome: 'retry', final: false, status: 500 };
    const partition = partitionOf(envelopeId, partitions);
    // One of its own: it knows as many partitions as there are now.
    const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
    await producer.connect();
    await producer.send({ topic, messages: [{ key: envelopeId, value: JSON.stringify(record), partition }] });
    await producer.disconnect();
  }
  async function read(envelopeId: string) {
    const told: number[][] = [];
    const records = await readAttempts(kafka, { topic, group: topic, envelopeId }, (...said) => told.push(said));
    return { attempts: records.map(({ attempt }) => attempt), told };
  }

  it('are found where they were written before as well, and that is told', async () => {
    const { attempts, told } = await read(moved);
    expect(attempts).toEqual([1, 2]);
    expect(told[0]).toEqual([1, 0, 2]);
  });

  it('are not looked for elsewhere where the first one is found', async () => {
    expect(await read(late)).toEqual({ attempts: [1, 2], told: [] });
  });
});
