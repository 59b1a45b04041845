import type { Shard } from '@relay/redis';
import { dueTimeOf } from './due-time.js';

/** When a delayed job of a queue is due, in epoch milliseconds; undefined when it is not delayed. */
export async function dueTime(shard: Shard, queue: string, id: string): Promise<number | undefined> {
  const score = await shard.redis.zscore(shard.key(queue, 'delayed'), id);
  return score === null ? undefined : dueTimeOf(score);
}
