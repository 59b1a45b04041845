import { envelopeTopics, registryTopic } from '@relay/events';
import { withAdmin } from '@relay/kafka';
import { REGISTRY_APPLIED, type Shards } from '@relay/redis';
import type { Redis } from 'ioredis';
import type { Admin, Kafka } from 'kafkajs';
import { fault, ok, type Finding } from './finding.js';
import { progressFindings, type ReadPartition } from './loss.adapter.js';

/** Names are those of docs/configuration.md. */
export interface LogNames {
  readonly KAFKA_TOPIC_PREFIX: string;
  readonly KAFKA_CONSUMER_GROUP: string;
}

/** Compares Redis with Kafka and changes neither. */
export function checkForLoss(shards: Shards, kafka: Kafka, names: LogNames): Promise<Finding[]> {
  return withAdmin(kafka, async (admin) => [
    await checkRegistry(shards.global, admin, registryTopic(names.KAFKA_TOPIC_PREFIX)),
    ...(await progressFindings(shards, await readPartitions(admin, names))),
  ]);
}

async function checkRegistry(redis: Redis, admin: Admin, topic: string): Promise<Finding> {
  const applied = Number((await redis.get(REGISTRY_APPLIED)) ?? -1) + 1;
  const bounds = (await admin.fetchTopicOffsets(topic)).find(({ partition }) => partition === 0);
  const end = Number(bounds?.high ?? 0);
  if (applied <= end)
    return ok('registry', `${applied} of ${end} changes are applied; a process applies the rest when it connects`);
  const text = `Redis has applied ${applied} changes of clients and webhooks, but the log holds ${end}`;
  return fault(
    'registry',
    text,
    'connect the Redis and the Kafka that belong together; see `registry.foreign` in docs/operations/log-events.md',
  );
}

async function readPartitions(
  admin: Admin,
  { KAFKA_TOPIC_PREFIX: prefix, KAFKA_CONSUMER_GROUP: groupId }: LogNames,
): Promise<ReadPartition[]> {
  const found = await admin.fetchOffsets({ groupId, topics: envelopeTopics(prefix) });
  return found.flatMap(({ topic, partitions }) =>
    partitions.map(({ partition, offset }) => ({ topic, partition, committed: Number(offset) })),
  );
}
