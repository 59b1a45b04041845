import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { KeptAdmin, rangesWithin, type LogRange } from '@relay/kafka';
import { Kafka, logLevel, type Admin } from 'kafkajs';
import { KafkaProxy } from '../support/kafka-proxy.js';
import { makeTopic } from '../support/make-topic.js';
import { until } from '../support/until.js';

// scripts/test.mjs starts the broker and names it.
const broker = (process.env['KAFKA_BROKERS'] ?? '').split(',')[0] ?? '';
const [host = '', port = ''] = broker.split(':');
const topic = `kept-${randomUUID()}`;
const common = { clientId: topic, brokers: [broker], logLevel: logLevel.NOTHING };
const ANSWER_MS = 3_000;

describe('a kept connection to the brokers', () => {
  let outside: Admin;
  let proxy: KafkaProxy;
  let kept: KeptAdmin;
  beforeAll(async () => {
    outside = new Kafka(common).admin();
    await outside.connect();
    await makeTopic(outside, topic, 2);
  });
  afterAll(async () => {
    await outside.deleteTopics({ topics: [topic] });
    await outside.disconnect();
  });
  beforeEach(async () => {
    proxy = new KafkaProxy({ host, port: Number(port) });
    await proxy.open();
    // The broker names itself in its metadata, so every connection is led through the proxy, whatever its address.
    const socketFactory = ({ onConnect }: { onConnect: () => void }) => connect(proxy.port, '127.0.0.1', onConnect);
    const retry = { initialRetryTime: 50, retries: 2 };
    kept = new KeptAdmin(new Kafka({ ...common, socketFactory, connectionTimeout: 1_000, retry }), ANSWER_MS);
  });
  afterEach(async () => {
    proxy.freeze(false);
    await kept.close();
    await proxy.close();
  });

  const ranges = (): Promise<LogRange[]> =>
    kept.ask((admin) => rangesWithin(admin, topic, { since: 0, until: Date.now() }));

  it('is opened by the first question, shared by all, and ended with the process', async () => {
    expect(proxy.accepted).toBe(0);
    await Promise.all(Array.from({ length: 20 }, ranges));
    for (let n = 0; n < 20; n += 1) expect(await ranges()).toHaveLength(2);
    expect(proxy.accepted).toBe(1);
    await kept.close();
    await until('it is ended', () => proxy.connected === 0);
    await expect(ranges()).rejects.toThrow('closed');
    expect(proxy.accepted).toBe(1);
  });

  it('is opened anew for a question that finds it ended', async () => {
    await ranges();
    await proxy.close();
    await proxy.open();
    expect(await ranges()).toHaveLength(2);
    expect(await Promise.all([ranges(), ranges()])).toHaveLength(2);
    await until('the one before is ended', () => proxy.connected === 1);
  });

  it('gives a question up in time at a broker that is frozen, and answers again once it goes on', async () => {
    await ranges();
    proxy.freeze(true);
    await expect(Promise.all([ranges(), ranges()])).rejects.toThrow('Kafka did not answer within');
    proxy.freeze(false);
    expect(await ranges()).toHaveLength(2);
  });

  it('tells of partitions that were added a moment ago', async () => {
    expect(await ranges()).toHaveLength(2);
    await outside.createPartitions({ topicPartitions: [{ topic, count: 3 }] });
    await until('each has a leader', async () => (await outside.fetchTopicOffsets(topic).catch(() => [])).length === 3);
    expect(await ranges()).toHaveLength(3);
  });
});
