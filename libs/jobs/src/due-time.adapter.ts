import { redisKey } from '@relay/redis';
import type { Redis } from 'ioredis';
import { dueTimeOf } from './due-time.js';

/** When a delayed job of a queue is due, in epoch milliseconds; undefined when it is not delayed. */
export async function dueTime(redis: Redis, queue: string, id: string): Promise<number | undefined> {
  const score = await redis.zscore(redisKey(queue, 'delayed'), id);
  return score === null ? undefined : dueTimeOf(score);
}
