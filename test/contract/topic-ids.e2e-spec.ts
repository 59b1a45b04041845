import { randomUUID } from 'node:crypto';
import { connectKafka, LogFetcher } from '@relay/kafka';
import { makeTopic } from '../support/make-topic.js';
import { until } from '../support/until.js';

const [topic, other] = [`ids-${randomUUID()}`, `ids-${randomUUID()}`];
const kafka = connectKafka(
  { KAFKA_BROKERS: (process.env['KAFKA_BROKERS'] ?? '').split(','), KAFKA_CLIENT_ID: topic },
  () => undefined,
);
const admin = kafka.admin();
const fetcher = new LogFetcher(kafka);
beforeAll(() => admin.connect());
afterAll(async () => {
  await Promise.all([admin.deleteTopics({ topics: [topic, other] }), fetcher.close()]);
  await admin.disconnect();
});

describe('the ids of topics', () => {
  it('are told of those that exist, differ, and are others for topics that are made anew', async () => {
    expect(await fetcher.topicIds([topic, other])).toEqual(new Map());
    await makeTopic(admin, topic, 3);
    await makeTopic(admin, other, 1);
    const before = await fetcher.topicIds([topic, other, `no-${topic}`]);
    expect([...before.keys()].toSorted()).toEqual([topic, other].toSorted());
    expect(before.get(topic)).toMatch(/^[0-9a-f]{32}$/);
    expect(before.get(topic)).not.toBe(before.get(other));
    await admin.deleteTopics({ topics: [topic] });
    await until('it is gone', async () => !(await fetcher.topicIds([topic])).has(topic));
    await makeTopic(admin, topic, 3);
    const after = await fetcher.topicIds([topic, other]);
    expect(after.get(topic)).not.toBe(before.get(topic));
    expect(after.get(other)).toBe(before.get(other));
  });
});
