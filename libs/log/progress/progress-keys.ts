import { globalKey, onlyShard, type Shard, type Shards } from '@relay/redis';
import type { Redis } from 'ioredis';
import type { LogPartition } from './partition-progress.port.js';

/** Token of the recovery that is running; absent if none is. */
export const recoveryKey = (shard: Shard): string => shard.key('recovery');

/**
 * A worker sets this key as soon as the shard has the progress of every partition that was read. If the key exists but the
 * progress of a partition is missing, the shard was not emptied. It was restored from a backup that is older than the first
 * read of that partition.
 */
export const knownKey = (shard: Shard): string => shard.key('known');

/** Hash of a partition: its owner, high water, sequence, and how far it was read. */
export const progressKey = (shard: Shard, at: LogPartition): string => shard.key('progress', at.topic, at.partition);

/**
 * Hash of a partition: envelope id → ids of the webhooks that are settled while other deliveries of the envelope are in
 * progress.
 */
export const partialKey = (shard: Shard, at: LogPartition): string => shard.key('partial', at.topic, at.partition);

/** Hash of a partition: range key → ranges in this partition. */
export const parkingKey = (shard: Shard, at: LogPartition): string => shard.key('parking', at.topic, at.partition);

/** Sorted set of a partition: offsets inside a range whose records are duplicates or conflicts. */
export const droppedKey = (shard: Shard, at: LogPartition): string => shard.key('dropped', at.topic, at.partition);

/** Set of the parked webhooks. With a range key: the hash `<topic>/<partition>` → ranges of this key in that partition. */
export const parkedKey = (shard: Shard, ...rangeKey: readonly string[]): string => shard.key('parked', ...rangeKey);

/** Hash of the running replays: range key → id of the replay. It is used only with one shard, whose flushes end replays. */
export const replaysKey = (shard: Shard): string => shard.key('replays');

/** How long a replay is kept, in seconds. The log is kept for 7 days. */
export const REPLAY_KEPT_S = 30 * 86_400;

interface Registered {
  readonly id: string;
  readonly status: 'active' | 'disabled' | 'parked';
}

/** Status that a partner sees. In the registry, a parked webhook is `active`; only its deliveries wait in the log. */
export type ShownStatus = Registered['status'];

/** Returns the ids of the webhooks that have deliveries waiting in the log. */
export async function parkedWebhooks(shards: Shards): Promise<ReadonlySet<string>> {
  const found = await Promise.all(shards.all.map((shard) => shard.redis.smembers(parkedKey(shard))));
  return new Set(found.flat());
}

/** Returns whether this webhook has deliveries waiting in the log. */
export async function isParked(shards: Shards, webhookId: string): Promise<boolean> {
  const found = await Promise.all(shards.all.map((shard) => shard.redis.exists(parkedKey(shard, webhookId))));
  return found.includes(1);
}

/** Returns each webhook together with the status that its partner sees. */
export async function withShownStatus<W extends Registered>(
  shards: Shards,
  webhooks: readonly W[],
): Promise<{ readonly webhook: W; readonly status: ShownStatus }[]> {
  const parked = await parkedWebhooks(shards);
  return webhooks.map((webhook) => ({
    webhook,
    status: webhook.status === 'active' && parked.has(webhook.id) ? 'parked' : webhook.status,
  }));
}

/** Key with the number of shards that the state is divided into. It may be missing if that number is 1. */
const SHARDS = globalKey('shards');
/** Key that exists while `relay reshard` is running. It expires if the command is killed. */
export const RESHARDING = globalKey('resharding');

/**
 * Checks that the state in Redis is divided into as many shards as this process assumes. With another number, the process
 * does not find the state.
 * @param topics topics of envelopes. If no number is stored and the first partition of one of these topics has progress, the
 *   state has one shard.
 * @throws Error if the number is another one, or is being changed
 */
export async function assertNumberOfShards(redis: Redis, count: number, topics: readonly string[]): Promise<void> {
  await assertNotResharding(redis);
  const stored = await storedNumber(redis, count, topics);
  if (stored === count) return;
  throw new Error(
    `The state in Redis is divided into ${stored} shards, and REDIS_SHARDS is ${count}: set REDIS_SHARDS=${stored}`,
  );
}

/** @throws Error while `relay reshard` copies the state, because writes during that time are lost */
export async function assertNotResharding(redis: Redis): Promise<void> {
  if ((await redis.exists(RESHARDING)) === 1)
    throw new Error(
      'A `relay reshard` is changing the number of shards: start when it has ended. One that was killed holds the state for 15 s; then start with the REDIS_SHARDS of before, or run it again',
    );
}

/** Returns the stored number of shards; undefined if no number was stored, which is normal for one shard. */
export async function saidShards(redis: Redis): Promise<number | undefined> {
  const said = await redis.get(SHARDS);
  return said === null ? undefined : Number(said);
}

async function storedNumber(redis: Redis, count: number, topics: readonly string[]): Promise<number> {
  const said = await saidShards(redis);
  if (said !== undefined) return said;
  if (count === 1) return 1;
  const keys = topics.map((topic) => progressKey(onlyShard(redis), { topic, partition: 0 }));
  if ((await redis.exists(...keys)) > 0) return 1;
  await redis.set(SHARDS, count, 'NX');
  return Number(await redis.get(SHARDS));
}
