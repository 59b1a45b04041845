import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { connectKafka } from '@relay/kafka';
import type { Admin, Consumer, Producer, RequestEvent } from 'kafkajs';
import { makeTopic } from '../support/make-topic.js';
import { until } from '../support/until.js';

/** A consumer with more than 256 partitions fetches the busy ones alone most of the time. */
const SIZES = [40, 300];
/** An answer that names no partition has 20 bytes; one that names all of them has about 50 for each. */
const EMPTY_BYTES = 100;

describe.each(SIZES)('the fetch session of a consumer of %i partitions with a real broker', (partitions) => {
  const topic = `sessions-${randomUUID()}`;
  const kafka = connectKafka(
    { KAFKA_BROKERS: (process.env['KAFKA_BROKERS'] ?? '').split(','), KAFKA_CLIENT_ID: topic },
    () => undefined,
  );
  let admin: Admin;
  let producer: Producer;
  let consumer: Consumer;
  let sizes: number[] = [];
  const read: string[] = [];
  beforeAll(async () => {
    [admin, producer, consumer] = [
      kafka.admin(),
      kafka.producer(),
      kafka.consumer({ groupId: topic, maxWaitTimeInMs: 100 }),
    ];
    await Promise.all([admin.connect(), producer.connect(), consumer.connect()]);
    await makeTopic(admin, topic, partitions);
    consumer.on(consumer.events.REQUEST, ({ payload }: RequestEvent) => {
      if (payload.apiName === 'Fetch') sizes.push(payload.size);
    });
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      eachMessage: async ({ partition, message }) => void read.push(`${partition} ${message.value?.toString()}`),
    });
  });
  afterAll(async () => {
    await consumer.disconnect();
    await admin.deleteTopics({ topics: [topic] });
    await Promise.all([admin.disconnect(), producer.disconnect()]);
  });
  const send = (partition: number, value: string) => producer.send({ topic, messages: [{ partition, value }] });
  const isRead = async (...expected: string[]): Promise<void> => {
    const seen = () => read.toSorted();
    await until(`these are read: ${expected.join(', ')}`, () => seen().join() === expected.join(), { seen });
    read.splice(0);
  };
  /** How large the answers become while nothing is sent. */
  const idleBytes = async (): Promise<number> => {
    sizes = [];
    await until('some fetches are answered', () => sizes.length > 5);
    return Math.max(...sizes.slice(1));
  };

  it('brings what is new, of whichever partition, and names no other', async () => {
    await Promise.all([send(3, 'a'), send(17, 'b')]);
    await isRead('17 b', '3 a');
    expect(await idleBytes()).toBeLessThan(EMPTY_BYTES);
    await Promise.all([send(3, 'c'), send(39, 'd')]);
    await isRead('3 c', '39 d');
  });

  it('follows a seek, and a partition that is paused and resumed', async () => {
    consumer.seek({ topic, partition: 3, offset: '0' });
    await isRead('3 a', '3 c');
    consumer.pause([{ topic, partitions: [3, 17] }]);
    await send(3, 'e');
    expect(await idleBytes()).toBeLessThan(EMPTY_BYTES);
    expect(read).toEqual([]);
    consumer.resume([{ topic, partitions: [3, 17] }]);
    await isRead('3 e');
    await send(17, 'f');
    await isRead('17 f');
  });

  it('reads each record once and in order while some partitions are busy, also of those that were not', async () => {
    const sent: Record<string, string[]> = {};
    const stream = async (partition: number, count: number, pauseMs: number): Promise<void> => {
      for (let number = 0; number < count; number += 1) {
        await send(partition, `s${number}`);
        (sent[partition] ??= []).push(`${partition} s${number}`);
        await delay(pauseMs);
      }
    };
    await Promise.all([stream(5, 400, 2), stream(6, 200, 5), stream(31, 3, 500), stream(38, 1, 0)]);
    const all = Object.values(sent).flat();
    await until('all are read', () => read.length >= all.length, { seen: () => read.length });
    for (const [partition, values] of Object.entries(sent))
      expect(read.filter((value) => value.startsWith(`${partition} `))).toEqual(values);
    expect(read).toHaveLength(all.length);
    expect(read.indexOf('38 s0')).toBeLessThan(read.indexOf('5 s399'));
  });

  it('follows a seek and a pause of a busy partition', async () => {
    read.splice(0);
    const stop = new AbortController();
    const stream = (async () => {
      for (let number = 0; !stop.signal.aborted; number += 1) await send(8, `t${number}`);
    })();
    await until('the partition is busy', () => read.length > 50);
    consumer.pause([{ topic, partitions: [8] }]);
    await delay(500);
    const held = read.length;
    await delay(500);
    expect(read).toHaveLength(held);
    consumer.seek({ topic, partition: 8, offset: '0' });
    consumer.resume([{ topic, partitions: [8] }]);
    await until('the log is read again', () => read.lastIndexOf('8 t0') >= held && read.length > held + 50);
    stop.abort();
    await stream;
    expect(read.slice(held, held + 50)).toEqual(Array.from({ length: 50 }, (_, number) => `8 t${number}`));
  });
});
