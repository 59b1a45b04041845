import { defineScript, redisKey, runScript } from '@relay/redis';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { hasten } from './hasten.adapter.js';
import { bullOptions, DELIVERIES_QUEUE } from './queues.js';

/** Set of the origins for which jobs wait; with `:<origin>` a sorted set of these jobs by the time they are due. */
const UNPROVEN = redisKey('unproven', 'jobs');
/** Jobs that are let go are due within so long, not all at once. */
const SPREAD_MS = 500;
const AT_ONCE = 50;
/** What was due longer ago than this has ended, or waits for something else by now. */
const STALE_MS = 60_000;
/** No job of an origin is put off further than ten minutes. */
const KEPT_MS = 700_000;
/** Origins looked at in one go. */
const MOST = 1_000;

/** KEYS: index. ARGV: origins. */
const forgetEmpty = defineScript(
  'unproven-forget',
  `for _, origin in ipairs(ARGV) do
  if redis.call('EXISTS', KEYS[1] .. ':' .. origin) == 0 then redis.call('SREM', KEYS[1], origin) end
end
return 1
`,
);

/**
 * Jobs that wait because their origin has never answered 2xx, so that they come at once when it does. They would come by
 * themselves as well: what a crash leaves out costs ten minutes at most.
 */
export class UnprovenJobs {
  readonly #queue: Queue;

  constructor(private readonly redis: Redis) {
    this.#queue = new Queue(DELIVERIES_QUEUE, bullOptions(redis));
    // Connection faults are told by the connection itself, once.
    this.#queue.on('error', () => undefined);
  }

  /** To be called when the job is stored, due at that time. */
  async hold(origin: string, jobId: string, at: number): Promise<void> {
    const key = `${UNPROVEN}:${origin}`;
    await this.redis
      .multi()
      .zadd(key, at, jobId)
      .zremrangebyscore(key, '-inf', Date.now() - STALE_MS)
      .pexpire(key, KEPT_MS)
      .sadd(UNPROVEN, origin)
      .exec();
  }

  /** One of them got its turn: what it waits for from now on is something else. */
  async drop(origin: string, jobId: string): Promise<void> {
    await this.redis.zrem(`${UNPROVEN}:${origin}`, jobId);
  }

  /** Some of the origins for which any wait: all, where they are a thousand at most. */
  origins(): Promise<string[]> {
    return this.redis.srandmember(UNPROVEN, String(MOST));
  }

  /** Makes those of an origin due at once. */
  async letGo(origin: string): Promise<void> {
    const key = `${UNPROVEN}:${origin}`;
    for (;;) {
      const ids = await this.redis.zrange(key, 0, String(AT_ONCE - 1));
      if (ids.length === 0) break;
      await Promise.all(ids.map((id) => hasten(this.#queue, id, Math.random() * SPREAD_MS)));
      await this.redis.zrem(key, ...ids);
    }
    await this.forget([origin]);
  }

  /** Forgets origins for which none wait any more. */
  async forget(origins: readonly string[]): Promise<void> {
    if (origins.length > 0) await runScript(this.redis, forgetEmpty, [UNPROVEN], origins);
  }

  close(): Promise<void> {
    return this.#queue.close();
  }
}
