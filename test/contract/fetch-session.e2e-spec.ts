import { randomUUID } from 'node:crypto';
import { connectKafka } from '@relay/kafka';
import type { Admin, Consumer, Producer, RequestEvent } from 'kafkajs';
import { makeTopic } from '../support/make-topic.js';
import { until } from '../support/until.js';

const PARTITIONS = 40;
/** An answer that names no partition has 20 bytes; one that names all of them has about 50 for each. */
const EMPTY_BYTES = 100;

const topic = `sessions-${randomUUID()}`;
const kafka = connectKafka(
  { KAFKA_BROKERS: (process.env['KAFKA_BROKERS'] ?? '').split(','), KAFKA_CLIENT_ID: topic },
  () => undefined,
);

describe('the fetch session of a consumer with a real broker', () => {
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
    await makeTopic(admin, topic, PARTITIONS);
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
});
