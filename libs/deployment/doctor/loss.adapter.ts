import { envelopeTopics, registryTopic } from '@relay/events';
import { type Kafka, type KafkaAdmin, withAdmin } from '@relay/kafka';
import { knownKey, recoveryKey, RedisPartitionProgress, type LogPartition } from '@relay/progress';
import { isRedisAway, REGISTRY_APPLIED, type Shard, type Shards } from '@relay/redis';
import type { Redis } from 'ioredis';
import { fault, ok, warning, type Finding } from './finding.js';

/** Prefix of the token that `relay recover` stores as owner of a partition while it recovers the partition. */
export const TOKEN = 'recovery-';

/** A partition of an envelope topic, and the offset that the consumer group of the workers has committed (-1: none). */
interface ReadPartition extends LogPartition {
  readonly committed: number;
}

/** Window in ms of the seen marks. Only writers need it, and the doctor only reads. */
const NO_WINDOW_MS = 0;

/**
 * Finds out whether a shard lost its record of how far the log was read. A new relay has read nothing, so it has lost
 * nothing. If a shard was restored from an older backup, it may not know some partitions; the workers read those again from
 * the beginning.
 * @returns `lost`: the partitions that the shard does not know, and those whose recovery has begun but not ended
 */
export async function lossOf<P extends ReadPartition>(
  events: readonly P[],
  shard: Shard,
  progress: Pick<RedisPartitionProgress, 'owners'>,
) {
  const isBegun = (await shard.redis.exists(recoveryKey(shard))) === 1;
  const wasKnown = (await shard.redis.exists(knownKey(shard))) === 1;
  const owners = await progress.owners(events);
  const unknown = events.filter((_, index) => owners[index] === undefined);
  const begun = events.filter((_, index) => owners[index]?.startsWith(TOKEN));
  const wasRead = unknown.some(({ committed }) => committed > 0);
  return { lost: [...unknown, ...begun], isLost: isBegun || (wasRead && !wasKnown), isBegun };
}

/** Reports each shard that lost its progress as a fault of its own, because each shard is recovered separately. */
export async function progressFindings(shards: Shards, read: readonly ReadPartition[]): Promise<Finding[]> {
  const isOnly = shards.all.length === 1;
  const found = await Promise.all(
    shards.all.map(async (shard, number) => {
      const who = isOnly ? 'Redis' : `Shard ${number} of Redis (${shard.tag})`;
      try {
        const { isLost, lost } = await lossOf(read, shard, new RedisPartitionProgress(shard, NO_WINDOW_MS));
        if (!isLost) return [];
        const text = `${who} knows nothing of ${lost.length} partitions that were read before: it was lost`;
        return [fault('progress', text, 'restore it from its append-only file, or run `relay recover`')];
      } catch (error) {
        if (isOnly || !isRedisAway(error)) throw error;
        const text = `${who} does not answer: whether it was lost is not known`;
        return [warning('progress', text, 'bring it back, then run the doctor again')];
      }
    }),
  );
  const findings = found.flat();
  return findings.length > 0 ? findings : [ok('progress', 'Redis knows how far the log was read')];
}

export interface LogNames {
  readonly KAFKA_TOPIC_PREFIX: string;
  readonly KAFKA_CONSUMER_GROUP: string;
}

/** Compares Redis with Kafka without changing either. */
export function checkForLoss(shards: Shards, kafka: Kafka, names: LogNames): Promise<Finding[]> {
  return withAdmin(kafka, async (admin) => [
    await checkRegistry(shards.global, admin, registryTopic(names.KAFKA_TOPIC_PREFIX)),
    ...(await progressFindings(shards, await readPartitions(admin, names))),
  ]);
}

async function checkRegistry(redis: Redis, admin: KafkaAdmin, topic: string): Promise<Finding> {
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
  admin: KafkaAdmin,
  { KAFKA_TOPIC_PREFIX: prefix, KAFKA_CONSUMER_GROUP: groupId }: LogNames,
): Promise<ReadPartition[]> {
  const found = await admin.fetchOffsets({ groupId, topics: envelopeTopics(prefix) });
  return found.flatMap(({ topic, partitions }) =>
    partitions.map(({ partition, offset }) => ({ topic, partition, committed: Number(offset) })),
  );
}
