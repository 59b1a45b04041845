import { globalKey, onlyShard, type Shard, type Shards } from '@relay/redis';
import type { Redis } from 'ioredis';
import type { LogPartition } from './partition-progress.port.js';

/** Token of the running recovery; absent otherwise. */
export const recoveryKey = (shard: Shard): string => shard.key('recovery');

/** Present once the shard has known every partition that was read: it was not lost since then, and can only be older. */
export const knownKey = (shard: Shard): string => shard.key('known');

/** Hash of a partition: owner, high water, sequence and how far it was read. */
export const progressKey = (shard: Shard, at: LogPartition): string => shard.key('progress', at.topic, at.partition);

/** Hash of a partition: envelope id → the webhooks that are settled while others run. */
export const partialKey = (shard: Shard, at: LogPartition): string => shard.key('partial', at.topic, at.partition);

/** Hash of a partition: range key → ranges there. */
export const parkingKey = (shard: Shard, at: LogPartition): string => shard.key('parking', at.topic, at.partition);

/** Sorted set of a partition: the offsets of repeats and conflicts inside a range. */
export const droppedKey = (shard: Shard, at: LogPartition): string => shard.key('dropped', at.topic, at.partition);

/** Set of the parked webhooks; with a range key, the hash `<topic>/<partition>` → its ranges there. */
export const parkedKey = (shard: Shard, ...rangeKey: readonly string[]): string => shard.key('parked', ...rangeKey);

/** Hash of the running replays, range key → id; used with one shard, whose flushes end replays. */
export const replaysKey = (shard: Shard): string => shard.key('replays');

/** Retention of a replay, in seconds. The log itself is kept for 7 days. */
export const REPLAY_KEPT_S = 30 * 86_400;

interface Registered {
  readonly id: string;
  readonly status: 'active' | 'disabled' | 'parked';
}

/** A parked webhook is registered as active, and its deliveries wait in the log. */
export type ShownStatus = Registered['status'];

/** Returns the ids of the webhooks whose deliveries wait in the log. */
export async function parkedWebhooks(shards: Shards): Promise<ReadonlySet<string>> {
  const found = await Promise.all(shards.all.map((shard) => shard.redis.smembers(parkedKey(shard))));
  return new Set(found.flat());
}

/** Whether deliveries to this webhook wait in the log. */
export async function isParked(shards: Shards, webhookId: string): Promise<boolean> {
  const found = await Promise.all(shards.all.map((shard) => shard.redis.exists(parkedKey(shard, webhookId))));
  return found.includes(1);
}

/** Adds to each webhook the status that its partner sees. */
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

/** Key with the number of shards that the state is divided into, if that is not 1. */
const SHARDS = globalKey('shards');
/** Key that a running `relay reshard` holds; it expires if the command is killed. */
export const RESHARDING = globalKey('resharding');

/**
 * Checks that the state in Redis is divided into as many shards as this process assumes. Otherwise the process finds nothing of
 * the state.
 * @param topics topics of envelopes, whose first partitions a worker owns from its first start on
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

/** @throws Error while `relay reshard` copies the state: writes at that time are lost */
export async function assertNotResharding(redis: Redis): Promise<void> {
  if ((await redis.exists(RESHARDING)) === 1)
    throw new Error(
      'A `relay reshard` is changing the number of shards: start when it has ended. One that was killed holds the state for 15 s; then start with the REDIS_SHARDS of before, or run it again',
    );
}

/** Returns the number of shards that is stored for the state in Redis; undefined if none was ever stored, as with one shard. */
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
