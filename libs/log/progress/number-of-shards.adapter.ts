import { globalKey, onlyShard } from '@relay/redis';
import type { Redis } from 'ioredis';
import { progressKey } from './progress-keys.js';

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
