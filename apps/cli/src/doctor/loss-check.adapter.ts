import { ConfigurationFault, dedupeEnv } from '@relay/config';
import { registryTopic } from '@relay/events';
import { RedisPartitionProgress } from '@relay/progress';
import { REGISTRY_APPLIED } from '@relay/redis';
import type { Redis } from 'ioredis';
import type { Kafka } from 'kafkajs';
import { Away, withKafka, withRedis, type KafkaConfig } from '../connections.adapter.js';
import { lossOf } from '../recover/loss.adapter.js';
import { openRecoveryLog } from '../recover/recovery-log.adapter.js';
import { settingsOf } from '../settings.js';
import type { Shell } from '../shell.js';
import { fault, ok, type Finding } from './finding.js';

/** Compares Redis with Kafka and changes neither. While one of them is away, its own check reports that. */
export async function checkForLoss(shell: Shell): Promise<Finding[]> {
  try {
    return await withRedis(shell, (redis) =>
      withKafka(shell, async (kafka, settings) => [
        await checkRegistry(redis, kafka, settings),
        await checkProgress(shell, redis, kafka, settings),
      ]),
    );
  } catch (error) {
    if (error instanceof Away || error instanceof ConfigurationFault) return [];
    const text = error instanceof Error ? error.message : String(error);
    return [fault('registry', text, 'run `relay topics create`, then the doctor again')];
  }
}

async function checkRegistry(
  redis: Redis,
  kafka: Kafka,
  { KAFKA_TOPIC_PREFIX: prefix }: KafkaConfig,
): Promise<Finding> {
  const applied = Number((await redis.get(REGISTRY_APPLIED)) ?? -1) + 1;
  const end = await endOf(kafka, registryTopic(prefix));
  if (applied <= end)
    return ok('registry', `${applied} of ${end} changes are applied; a process applies the rest when it connects`);
  const text = `Redis has applied ${applied} changes of clients and webhooks, but the log holds ${end}`;
  return fault(
    'registry',
    text,
    'connect the Redis and the Kafka that belong together; see `registry.foreign` in docs/operations/log-events.md',
  );
}

async function endOf(kafka: Kafka, topic: string): Promise<number> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    const [bounds] = await admin.fetchTopicOffsets(topic);
    return Number(bounds?.high ?? 0);
  } finally {
    await admin.disconnect();
  }
}

async function checkProgress(shell: Shell, redis: Redis, kafka: Kafka, settings: KafkaConfig): Promise<Finding> {
  const { events } = await openRecoveryLog(kafka, settings, Date.now());
  const { DEDUPE_WINDOW } = settingsOf(shell, dedupeEnv);
  const { lost, isLost } = await lossOf(events, redis, new RedisPartitionProgress(redis, DEDUPE_WINDOW));
  if (!isLost) return ok('progress', 'Redis knows how far the log was read');
  const text = `Redis knows nothing of ${lost.length} partitions that were read before: it was lost`;
  return fault('progress', text, 'restore it from its append-only file, or run `relay recover`');
}
