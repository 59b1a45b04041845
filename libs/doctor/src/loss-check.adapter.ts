import { envelopeTopics, registryTopic } from '@relay/events';
import { withAdmin } from '@relay/kafka';
import { RedisPartitionProgress } from '@relay/progress';
import { REGISTRY_APPLIED, type Shards } from '@relay/redis';
import type { Redis } from 'ioredis';
import type { Admin, Kafka } from 'kafkajs';
import { fault, ok, type Finding } from './finding.js';
import { lossOf, type ReadPartition } from './loss.adapter.js';

/** Owners are read without it. */
const NO_WINDOW_MS = 0;

/** Names are those of docs/configuration.md. */
export interface LogNames {
  readonly KAFKA_TOPIC_PREFIX: string;
  readonly KAFKA_CONSUMER_GROUP: string;
}

/** Compares Redis with Kafka and changes neither. */
export function checkForLoss(shards: Shards, kafka: Kafka, names: LogNames): Promise<Finding[]> {
  return withAdmin(kafka, async (admin) => [
    await checkRegistry(shards.global, admin, registryTopic(names.KAFKA_TOPIC_PREFIX)),
    await checkProgress(shards, admin, names),
  ]);
}

async function checkRegistry(redis: Redis, admin: Admin, topic: string): Promise<Finding> {
  const applied = Number((await redis.get(REGISTRY_APPLIED)) ?? -1) + 1;
  const [bounds] = await admin.fetchTopicOffsets(topic);
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

async function checkProgress(shards: Shards, admin: Admin, names: LogNames): Promise<Finding> {
  const partitions = await readPartitions(admin, names);
  const found = await Promise.all(
    shards.all.map((shard) => lossOf(partitions, shard, new RedisPartitionProgress(shard, NO_WINDOW_MS))),
  );
  const lost = found.filter(({ isLost }) => isLost).flatMap((shard) => shard.lost);
  if (found.every(({ isLost }) => !isLost)) return ok('progress', 'Redis knows how far the log was read');
  const text = `Redis knows nothing of ${lost.length} partitions that were read before: it was lost`;
  return fault('progress', text, 'restore it from its append-only file, or run `relay recover`');
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
