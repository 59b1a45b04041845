import { randomUUID } from 'node:crypto';
import type { OperationsRecord } from '@relay/events';
import { LogFetcher, readRanges } from '@relay/kafka';
import kafkajs from 'kafkajs';
import { anEnvelope, type Client } from '../support/client.js';
import { makeTopic } from '../support/make-topic.js';
import { Relay } from '../support/relay.js';
import { tally } from '../support/tally.js';
import { until } from '../support/until.js';

/** The broker looks every 15 s for what it can compact. */
const COMPACTED = { withinMs: 90_000 };

const COMPACT = {
  'cleanup.policy': 'compact',
  'segment.ms': '100',
  'min.cleanable.dirty.ratio': '0.01',
  'delete.retention.ms': '0',
};

let relay: Relay;
let partner: Client;
beforeAll(async () => {
  relay = await Relay.start({ KAFKA_TOPIC_PARTITIONS: '1' });
  partner = await relay.partner();
});
afterAll(() => relay.close());

/** A disabled webhook for which as many records wait under so many keys; the ids of the envelopes. */
async function parked(eventType: string, path: string, count: number, keys: number) {
  const webhook = await partner.register({ eventType, endPointUrl: relay.receiver.url(path), apiKey: 'key' });
  expect((await partner.request('POST', `/webhooks/${webhook}/disable`)).status).toBe(200);
  const envelopes = Array.from({ length: count }, () => anEnvelope({ type: eventType }));
  await relay.stack
    .topic(eventType)
    .write(...envelopes.map((envelope, n) => ({ key: `k${n % keys}`, value: JSON.stringify(envelope) })));
  await until('all of them wait', () => relay.stack.isParked(webhook));
  await until('all of them are read', async () => (await relay.stack.lag(eventType)) === 0);
  return { webhook, ids: envelopes.map(({ id }) => id) };
}

const told = async (event: string): Promise<OperationsRecord[]> => {
  const records = await relay.stack.topic('relay.operations').read();
  return records
    .map(({ value }) => JSON.parse(value.toString()) as OperationsRecord)
    .filter((record) => record.event === event);
};

describe('a range of the log that waits for a webhook', () => {
  it('loses what compaction removes, which is told as expired, and the rest is delivered', async () => {
    const eventType = 'task.deleted';
    const { webhook, ids } = await parked(eventType, '/compacted', 30, 3);
    const topic = relay.stack.topic(eventType);
    const configEntries = Object.entries(COMPACT).map(([name, value]) => ({ name, value }));
    await relay.stack.admin.alterConfigs({
      validateOnly: false,
      resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic.name, configEntries }],
    });
    // The newest segment is never compacted.
    const last = anEnvelope({ type: eventType });
    await until(
      'the broker has compacted',
      async () => {
        const found = await topic.read();
        if (found.length < 10) return true;
        if (found.length === 30) await topic.write({ key: 'last', value: JSON.stringify(last) });
        return false;
      },
      COMPACTED,
    );
    expect((await partner.request('POST', `/webhooks/${webhook}/enable`)).status).toBe(200);
    const sent = new Set([...ids.slice(-3), last.id]);
    await until('the rest is delivered', () => tally(sent, relay.receiver.delivered('/compacted')).lost === 0);
    const records = await until('the loss is told', async () => {
      const found = await told('webhook.expired');
      return found.length > 0 && found;
    });
    expect(records).toMatchObject([{ webhookId: webhook, records: 27 }]);
    expect(relay.receiver.delivered('/compacted')).toHaveLength(4);
  });

  it('loses nothing if the log has aborted records and markers', async () => {
    const eventType = 'plan.updated';
    const { webhook, ids } = await parked(eventType, '/aborted', 5, 5);
    const { stack, receiver } = relay;
    const producer = stack.kafka.producer({
      transactionalId: 'spec-aborted',
      idempotent: true,
      maxInFlightRequests: 1,
    });
    await producer.connect();
    const transaction = await producer.transaction();
    const value = JSON.stringify(anEnvelope({ type: eventType }));
    await transaction.send({ topic: stack.topic(eventType).name, messages: [{ value, partition: 0 }] });
    await transaction.abort();
    await producer.disconnect();
    const last = anEnvelope({ type: eventType });
    await stack.topic(eventType).write({ value: JSON.stringify(last) });
    await until('all is read', async () => (await stack.lag(eventType)) === 0);
    const before = (await told('webhook.expired')).length;
    expect((await partner.request('POST', `/webhooks/${webhook}/enable`)).status).toBe(200);
    await until('all is delivered', () => tally(new Set([...ids, last.id]), receiver.delivered('/aborted')).lost === 0);
    await until('it waits no more', async () => !(await stack.isParked(webhook)));
    expect(await told('webhook.expired')).toHaveLength(before);
  });
});

describe('a log that was compacted', () => {
  it('is read from every offset, also behind a batch without records and inside of one', async () => {
    const { kafka, admin } = relay.stack;
    const topic = `${relay.stack.env['KAFKA_TOPIC_PREFIX']}compacted-${randomUUID()}`;
    await makeTopic(admin, topic, 1, COMPACT);
    const send = async (isIdempotent: boolean, ...records: [key: string, bytes: number][]): Promise<void> => {
      const producer = kafka.producer({ idempotent: isIdempotent });
      await producer.connect();
      const messages = records.map(([key, bytes]) => ({ key, value: 'x'.repeat(bytes), partition: 0 }));
      await producer.send({ topic, acks: -1, messages });
      await producer.disconnect();
    };
    // Kafka keeps the last batch of a producer, without records.
    await send(true, ['a', 10]);
    await send(false, ['b', 10], ['c', 10], ['d', 10], ['d', 10]);
    await send(false, ['a', 90_000], ['c', 90_000], ['d', 90_000]);
    const read = async (from: number, end: number) => {
      const found = { records: [] as number[], gaps: [] as number[] };
      await readRanges(
        kafka,
        [{ topic, partition: 0, from, end }],
        relay.stack.env['KAFKA_CONSUMER_GROUP'] ?? '',
        (_range, messages, gaps) => {
          found.records.push(...messages.map(({ offset }) => Number(offset)));
          for (const gap of gaps) for (let at = gap.from; at < gap.to; at += 1) found.gaps.push(at);
        },
        64 * 1024,
      );
      return found;
    };
    await until(
      'the broker has compacted',
      async () => {
        await send(false, ['last', 10]);
        return (await read(1, 5)).records.join() === '1';
      },
      COMPACTED,
    );
    const inLog = new Set([1, 5, 6, 7]);
    const ranges = [5, 8].flatMap((end) => Array.from({ length: end }, (_, from) => [from, end] as const));
    const found = await Promise.all(ranges.map(async ([from, end]) => [from, end, await read(from, end)]));
    const expected = ranges.map(([from, end]) => {
      const offsets = Array.from({ length: end - from }, (_, n) => from + n);
      const [records, gaps] = [true, false].map((is) => offsets.filter((offset) => inLog.has(offset) === is));
      return [from, end, { records, gaps }];
    });
    expect(found).toEqual(expected);
    const fetcher = new LogFetcher(kafka);
    for (let from = 0; from < 5; from += 1) {
      let next = from;
      for (let round = 0; next < 6 && round < 10; round += 1) {
        const [part] = await fetcher.fetch(topic, new Map([[0, next]]), { maxBytes: 64 * 1024, waitMs: 0 });
        next = part?.next ?? next;
      }
      expect([from, next >= 6]).toEqual([from, true]);
    }
    await fetcher.close();
  });
});
