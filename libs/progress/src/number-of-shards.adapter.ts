import { globalKey, onlyShard } from '@relay/redis';
import type { Redis } from 'ioredis';
import { progressKey } from './progress-keys.js';

/** Number of shards that the state is divided into, where it is not 1. */
const SHARDS = globalKey('shards');
/** Held by a running `relay reshard`; it expires when that is killed. */
export const RESHARDING = globalKey('resharding');

/**
 * Makes sure that the state in Redis is divided into as many shards as this process takes it for: with another number it would find
 * nothing of what is there.
 * @param topics those of envelopes, whose first partitions a worker owns from its first start on
 * @throws Error when the number is another one, or is being changed
 */
export async function assertNumberOfShards(redis: Redis, count: number, topics: readonly string[]): Promise<void> {
  await assertNotResharding(redis);
  const stored = await storedNumber(redis, count, topics);
  if (stored === count) return;
  throw new Error(
    `The state in Redis is divided into ${stored} shards, and REDIS_SHARDS is ${count}: set REDIS_SHARDS=${stored}`,
  );
}

/** @throws Error while `relay reshard` copies the state: what is written meanwhile would be lost */
export async function assertNotResharding(redis: Redis): Promise<void> {
  if ((await redis.exists(RESHARDING)) === 1)
    throw new Error(
      'A `relay reshard` is changing the number of shards: start when it has ended. One that was killed holds the state for 15 s; then start with the REDIS_SHARDS of before, or run it again',
    );
}

/** The number of shards that the state in Redis is divided into; undefined where none was ever said, as with one shard. */
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
