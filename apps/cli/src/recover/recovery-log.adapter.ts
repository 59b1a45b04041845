import { lossOf } from '@relay/doctor';
import { deadLettersTopic, deliveryAttemptsTopic, envelopeTopics } from '@relay/events';
import {
  type Kafka,
  type KafkaAdmin,
  type KafkaMessage,
  LogFetcher,
  type LogRange,
  readRanges,
  type IdsByTopic,
  withAdmin,
} from '@relay/kafka';
import { RedisPartitionProgress } from '@relay/progress';
import { connectedRoles, type Shards } from '@relay/redis';
import type { KafkaConfig } from '../stores.adapter.js';

const WEEK_MS = 7 * 86_400_000;

type Take = (range: LogRange, messages: readonly KafkaMessage[]) => Promise<void> | void;

/** A partition of an event topic. `committed` is the offset that the consumer group of the workers has committed, or -1. */
export interface EventRange extends LogRange {
  readonly committed: number;
  /** Kafka's id of the topic, if the brokers report one. */
  readonly topicId?: string;
}

export type RecoveryLog = Awaited<ReturnType<typeof openRecoveryLog>>;

/**
 * Looks up the first and the end offset of each partition. For event topics, the range begins seven days before `now`.
 * @throws Error if a topic is missing
 */
export async function openRecoveryLog(kafka: Kafka, settings: KafkaConfig, now: number) {
  const { KAFKA_TOPIC_PREFIX: prefix, KAFKA_CONSUMER_GROUP: group } = settings;
  // Ask for the ids before anything is read. If a topic is created again later, its new id shows the change.
  const ids = await topicIdsOf(kafka, prefix);
  const admin = kafka.admin();
  await admin.connect();
  try {
    const events: EventRange[] = [];
    for (const topic of envelopeTopics(prefix)) {
      const topicId = ids.get(topic);
      const of = topicId === undefined ? {} : { topicId };
      for (const range of await eventRanges(admin, topic, group, now - WEEK_MS)) events.push({ ...range, ...of });
    }
    return {
      attempts: await wholeRanges(admin, deliveryAttemptsTopic(prefix)),
      deadLetters: await wholeRanges(admin, deadLettersTopic(prefix)),
      events,
      read: (ranges: readonly LogRange[], take: Take) => readRanges(kafka, ranges, group, take),
    };
  } finally {
    await admin.disconnect();
  }
}

async function topicIdsOf(kafka: Kafka, prefix: string): Promise<IdsByTopic> {
  const fetcher = new LogFetcher(kafka);
  try {
    return await fetcher.topicIds(envelopeTopics(prefix));
  } finally {
    await fetcher.close();
  }
}

async function wholeRanges(admin: KafkaAdmin, topic: string): Promise<LogRange[]> {
  const bounds = await admin.fetchTopicOffsets(topic);
  return bounds.map(({ partition, low, high }) => ({ topic, partition, from: Number(low), end: Number(high) }));
}

async function eventRanges(admin: KafkaAdmin, topic: string, groupId: string, since: number): Promise<EventRange[]> {
  const [ranges, starts, [committed]] = await Promise.all([
    wholeRanges(admin, topic),
    admin.fetchTopicOffsetsByTimestamp(topic, since),
    admin.fetchOffsets({ groupId, topics: [topic] }),
  ]);
  return ranges.map(({ partition, from: first, end }) => {
    const start = Number(starts.find((known) => known.partition === partition)?.offset ?? first);
    const offset = committed?.partitions.find((known) => known.partition === partition)?.offset ?? -1;
    // Kafka answers -1 if no record is that young. The range is then empty.
    const from = start < 0 ? end : Math.min(Math.max(start, first), end);
    return { topic, partition, from, end, committed: Number(offset) };
  });
}

export type LostShard = Awaited<ReturnType<typeof lostShards>>[number];

/**
 * Returns the shards of Redis that were lost and are not fully recovered, each with the partitions that are left to recover.
 */
export async function lostShards(events: readonly EventRange[], shards: Shards, windowMs: number) {
  const found = await Promise.all(
    shards.all.map(async (shard, number) => {
      const progress = new RedisPartitionProgress(shard, windowMs);
      const { lost, isLost, isBegun } = await lossOf(events, shard, progress);
      // `lossOf` recognizes a loss only if the workers have committed an offset. A worker that was stopped early may have
      // read records without committing. Therefore a shard also counts as lost if the log has records but the shard knows
      // none of the partitions.
      const isEmpty = lost.length === events.length && lost.some(({ end }) => end > 0);
      return isLost || isEmpty ? [{ number, shard, progress, lost, isBegun }] : [];
    }),
  );
  return found.flat();
}

/** `assertWhole` writes no marks, so it needs no deduplication window. */
const NO_WINDOW_MS = 0;

/**
 * Makes sure that no ingress, worker or operations process runs. Redis lists the connections of these roles by name. Kafka
 * lists the members of the consumer group, even a worker that is not connected to Redis at the moment.
 * @throws Error if a role runs
 */
export async function assertStopped(shards: Shards, kafka: Kafka, settings: KafkaConfig): Promise<void> {
  const roles = await connectedRoles(shards.global);
  if (roles.length > 0)
    throw new Error(
      `These roles are connected to Redis: ${roles.join(', ')}. Stop all ingress, worker and operations processes first`,
    );
  const { KAFKA_CONSUMER_GROUP: group } = settings;
  const { groups } = await withAdmin(kafka, (admin) => admin.describeGroups([group]));
  const members = groups.flatMap((found) => found.members).length;
  if (members > 0)
    throw new Error(
      `The consumer group ${group} has ${members} members: stop all workers first. One that was killed counts until its session ends`,
    );
}

/** @throws Error if a shard was lost or a recovery is not finished */
export async function assertWhole(shards: Shards, kafka: Kafka, settings: KafkaConfig): Promise<void> {
  const log = await openRecoveryLog(kafka, settings, Date.now());
  const lost = await lostShards(log.events, shards, NO_WINDOW_MS);
  if (lost.length === 0) return;
  const names = lost.map(({ shard }) => shard.tag).join(', ');
  throw new Error(
    lost.some(({ isBegun }) => isBegun)
      ? `A recovery of ${names} has not ended: run \`relay recover\` to its end first`
      : `Redis was lost: ${names} knows nothing of partitions that were read. Restore it, or run \`relay recover\` first`,
  );
}
