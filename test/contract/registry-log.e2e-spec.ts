import { randomUUID } from 'node:crypto';
import { KeptAdmin } from '@relay/kafka';
import { KafkaPublisher } from '@relay/publishing';
import { KafkaRegistryLog } from '@relay/registry';
import type { Log } from '@relay/telemetry';
import { describeRegistryLog } from '@relay/testing';
import { Kafka, logLevel, type Admin } from 'kafkajs';
import { makeTopic } from '../support/make-topic.js';

// scripts/test.mjs starts the broker and names it.
const broker = (process.env['KAFKA_BROKERS'] ?? '').split(',')[0] ?? '';
const prefix = `registry-${randomUUID()}`;
const silent: Log = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
const kafka = new Kafka({ clientId: prefix, brokers: [broker], logLevel: logLevel.NOTHING });

let admin: Admin;
let publisher: KafkaPublisher;
let kept: KeptAdmin;
beforeAll(async () => {
  admin = kafka.admin();
  await admin.connect();
  publisher = new KafkaPublisher(kafka, silent);
  kept = new KeptAdmin(kafka);
});
afterAll(async () => {
  await Promise.all([publisher.close(), kept.close()]);
  const topics = await admin.listTopics();
  await admin.deleteTopics({ topics: topics.filter((topic) => topic.startsWith(prefix)) });
  await admin.disconnect();
});

describeRegistryLog('KafkaRegistryLog', async () => {
  const topic = `${prefix}.${randomUUID()}`;
  await makeTopic(admin, topic, 1);
  return new KafkaRegistryLog(kept, publisher, topic, prefix, silent);
});

it('a registry log leaves no consumer group behind', async () => {
  const { groups } = await admin.listGroups();
  expect(groups.filter(({ groupId }) => groupId.startsWith(prefix))).toEqual([]);
});
