import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { KafkaPublisher, type KafkaPublisherSettings, type OutgoingRecord } from '@relay/publishing';
import type { Log } from '@relay/telemetry';
import { describePublisher } from '@relay/testing';
import { Kafka, logLevel, type Admin } from 'kafkajs';
import { readTopic } from '../support/kafka-log.js';
import { makeTopic } from '../support/make-topic.js';
import { KafkaProxy, PRODUCE } from '../support/kafka-proxy.js';

// scripts/test.mjs starts the broker and names it.
const broker = (process.env['KAFKA_BROKERS'] ?? '').split(',')[0] ?? '';
const [host = '', port = ''] = broker.split(':');
const prefix = `publisher-${randomUUID()}`;
const silent: Log = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
const common = { clientId: prefix, brokers: [broker], logLevel: logLevel.NOTHING };
const kafka = new Kafka(common);

let admin: Admin;
beforeAll(async () => {
  admin = kafka.admin();
  await admin.connect();
});
afterAll(async () => {
  const topics = await admin.listTopics();
  await admin.deleteTopics({ topics: topics.filter((topic) => topic.startsWith(prefix)) });
  await admin.disconnect();
});

const newTopic = async (partitions = 3, config: Record<string, string> = {}): Promise<string> => {
  const topic = `${prefix}.${randomUUID()}`;
  await makeTopic(admin, topic, partitions, config);
  return topic;
};
const aRecord = (topic: string, text: string): OutgoingRecord => ({
  topic,
  key: text,
  value: Buffer.from(text),
  headers: {},
});

describePublisher('KafkaPublisher', prefix, async () => ({
  publisher: new KafkaPublisher(kafka, silent),
  createTopic: (topic, partitions) => makeTopic(admin, topic, partitions),
  hasTopic: async (topic) => (await admin.listTopics()).includes(topic),
  read: (topic) => readTopic(kafka, topic),
}));

const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
};

let proxy: KafkaProxy;
// The broker names itself in its metadata, so every connection is led through the proxy, whatever its address.
const socketFactory = ({ onConnect }: { onConnect: () => void }) => connect(proxy.port, '127.0.0.1', onConnect);

describe('KafkaPublisher over a bad connection', () => {
  let publisher: KafkaPublisher;
  beforeEach(async () => {
    proxy = new KafkaProxy({ host, port: Number(port) });
    await proxy.open();
  });
  afterEach(async () => {
    proxy.freeze(false);
    await publisher.close();
    await proxy.close();
  });

  const publish = (settings: Partial<KafkaPublisherSettings> = {}): void => {
    const through = new Kafka({ ...common, socketFactory, requestTimeout: 3_000, retry: { retries: 1 } });
    publisher = new KafkaPublisher(through, silent, settings);
  };
  const send = async (record: OutgoingRecord): Promise<string> =>
    publisher.publish(record).then(
      () => 'stored',
      (error: unknown) => (error instanceof Error && 'reason' in error ? String(error.reason) : 'thrown'),
    );

  it.each([
    [false, 1],
    [false, 2],
    [true, 1],
    [true, 2], // more than the one repeat of kafkajs: the send fails
  ])(
    'has in the log all it has acknowledged when answers are lost (idempotent %s, %d in a row)',
    async (idempotent, losses) => {
      publish({ idempotent });
      const topic = await newTopic();
      expect(await send(aRecord(topic, 'first'))).toBe('stored');
      const texts = Array.from({ length: 300 }, (_, n) => `record ${n}`);
      const outcomes = await Promise.all(
        texts.map(async (text, n) => {
          await new Promise((resolve) => setTimeout(resolve, n * 3));
          if (n % 60 === 20) proxy.swallowNext(losses);
          return send(aRecord(topic, text));
        }),
      );
      expect(proxy.swallowed).toBeGreaterThanOrEqual(4);
      const notInLog = async (wanted: readonly string[]): Promise<string[]> => {
        const log = new Set((await readTopic(kafka, topic)).map((record) => record.value.toString()));
        return wanted.filter((text) => !log.has(text));
      };
      expect(await notInLog(texts.filter((_, n) => outcomes[n] === 'stored'))).toEqual([]);
      // On a busy machine few requests carry all of them, and every answer may be lost: then all are sent again.
      for (const text of texts.filter((_, n) => outcomes[n] !== 'stored')) {
        await until(async () => (await send(aRecord(topic, text))) === 'stored');
      }
      expect(await notInLog(texts)).toEqual([]);
    },
    60_000,
  );

  it('tells at its deadline of a broker that hangs, sends nothing of it later, and goes on when it answers again', async () => {
    publish({ deadlineMs: 1_000 });
    const topic = await newTopic(1);
    expect(await send(aRecord(topic, 'before'))).toBe('stored');
    proxy.freeze(true);
    const underWay = send(aRecord(topic, 'under way'));
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const waiting = send(aRecord(topic, 'waiting'));
    expect(await Promise.all([underWay, waiting])).toEqual(['timeout', 'timeout']);
    proxy.freeze(false);
    await until(async () => (await send(aRecord(topic, 'after'))) === 'stored');
    const log = (await readTopic(kafka, topic)).map((record) => record.value.toString());
    expect(log).not.toContain('waiting');
    expect(log.at(-1)).toBe('after');
  });

  it('never sends again what has timed out, not even when its connection ends later', async () => {
    publish({ deadlineMs: 1_000 });
    const topic = await newTopic(1);
    expect(await send(aRecord(topic, 'before'))).toBe('stored');
    proxy.freeze(true);
    expect(await send(aRecord(topic, 'lost'))).toBe('timeout');
    await proxy.close();
    proxy.freeze(false);
    await proxy.open();
    await until(async () => (await send(aRecord(topic, 'after'))) === 'stored');
    const log = (await readTopic(kafka, topic)).map((record) => record.value.toString());
    expect(log).toEqual(['before', 'after']);
  });

  it('replaces a connection that hangs for ever', async () => {
    publish({ deadlineMs: 1_000 });
    const topic = await newTopic(1);
    expect(await send(aRecord(topic, 'before'))).toBe('stored');
    proxy.freeze(true);
    expect(await send(aRecord(topic, 'lost'))).toBe('timeout');
    const replaced = proxy;
    proxy = new KafkaProxy({ host, port: Number(port) });
    await proxy.open();
    await until(async () => (await send(aRecord(topic, 'after'))) === 'stored');
    await replaced.close();
    const log = (await readTopic(kafka, topic)).map((record) => record.value.toString());
    expect(log).not.toContain('lost');
  });

  it('refuses at once while no broker can be reached, says why, and comes back by itself', async () => {
    publish();
    const topic = await newTopic();
    expect(await send(aRecord(topic, 'before'))).toBe('stored');
    await proxy.close();
    expect(await send(aRecord(topic, 'meanwhile'))).toBe('unavailable');
    await until(() => publisher.state !== 'connected');
    expect(publisher.state).toContain('ECONNREFUSED');
    expect(await send(aRecord(topic, 'meanwhile'))).toBe('unavailable');
    await proxy.open();
    await until(() => publisher.state === 'connected');
    expect(await send(aRecord(topic, 'after'))).toBe('stored');
  });

  it('says that records are not stored while the brokers answer every other question, and no more when they are again', async () => {
    publish({ deadlineMs: 1_000 });
    const topic = await newTopic(1);
    expect(await send(aRecord(topic, 'before'))).toBe('stored');
    proxy.leaveUnanswered(PRODUCE);
    expect(await send(aRecord(topic, 'meanwhile'))).toBe('timeout');
    expect(publisher.state).toMatch(new RegExp(`^${topic}/0 takes no records`));
    proxy.leaveUnanswered();
    await until(async () => (await send(aRecord(topic, 'after'))) === 'stored');
    expect(publisher.state).toBe('connected');
  });

  it('gives the first record of a topic that it has learned its whole deadline, whatever else is missing', async () => {
    const lookMs = 300;
    publish({ lookMs });
    const [known, unknown] = [await newTopic(1), await newTopic(1)];
    await publisher.learn([`${prefix}.missing`, known]);
    proxy.freeze(true);
    const first = send(aRecord(known, 'first'));
    expect(await send(aRecord(unknown, 'other'))).toBe('unavailable');
    proxy.freeze(false);
    expect(await first).toBe('stored');
  });

  it('says that it could not learn topics when no broker answers', async () => {
    await proxy.close();
    publish();
    await expect(publisher.learn([await newTopic()])).rejects.toMatchObject({ reason: 'unavailable' });
    await proxy.open();
  });

  it('starts before the broker', async () => {
    await proxy.close();
    publish();
    const topic = await newTopic();
    expect(await send(aRecord(topic, 'too early'))).toBe('unavailable');
    await proxy.open();
    await until(() => publisher.state === 'connected');
    expect(await send(aRecord(topic, 'in time'))).toBe('stored');
  });

  it('refuses a record that the broker will not have, and stores those that came with it', async () => {
    publish();
    const topic = await newTopic(1, { 'max.message.bytes': '5000' });
    const texts = ['a', 'b'.repeat(8_000), 'c', 'd'];
    expect(await Promise.all(texts.map((text) => send({ ...aRecord(topic, 'k'), value: Buffer.from(text) })))).toEqual([
      'stored',
      'refused',
      'stored',
      'stored',
    ]);
    const log = (await readTopic(kafka, topic)).map((record) => record.value.toString());
    expect(log).toEqual(['a', 'c', 'd']);
  });

  it('stores records of every key after a topic was made anew with fewer partitions', async () => {
    publish();
    const topic = await newTopic(6);
    const keys = Array.from({ length: 24 }, (_, n) => `key ${n}`);
    expect(new Set(await Promise.all(keys.map((key) => send(aRecord(topic, key)))))).toEqual(new Set(['stored']));
    await admin.deleteTopics({ topics: [topic] });
    await until(async () => !(await admin.listTopics()).includes(topic));
    await makeTopic(admin, topic, 2);
    for (const key of keys) await until(async () => (await send(aRecord(topic, key))) === 'stored');
    expect((await readTopic(kafka, topic)).map(({ key }) => key).toSorted()).toEqual(keys.toSorted());
  });

  it('goes on with other topics when one that it has used is deleted', async () => {
    publish();
    const [kept, deleted] = [await newTopic(), await newTopic()];
    expect(await Promise.all([kept, deleted].map((topic) => send(aRecord(topic, 'x'))))).toEqual(['stored', 'stored']);
    await admin.deleteTopics({ topics: [deleted] });
    const messageOf = async (sending: Promise<void>): Promise<string> =>
      sending.then(
        () => '',
        (error: unknown) => String(error),
      );
    await until(async () =>
      (await messageOf(publisher.publish(aRecord(deleted, 'x')).then(() => undefined))).includes('relay topics create'),
    );
    expect(await send(aRecord(kept, 'y'))).toBe('stored');
  });
});
