import type { Admin } from 'kafkajs';
import { until } from './until.js';

/**
 * Makes a topic and waits until it can be used. kafkajs' own waiting for leaders gives up where the broker does not know the
 * topic yet. Beyond that each leader must answer for its partition: one that does not have it yet makes kafkajs send the
 * others' records twice.
 */
export async function makeTopic(
  admin: Admin,
  topic: string,
  partitions: number,
  config: Record<string, string> = {},
): Promise<void> {
  const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
  const wanted = { topic, numPartitions: partitions, replicationFactor: 1, configEntries };
  await admin.createTopics({ topics: [wanted], waitForLeaders: false });
  const answering = async () => (await admin.fetchTopicOffsets(topic).catch(() => [])).length;
  await until(`${topic} has its leaders`, async () => (await answering()) === partitions);
}
