import { defineScript, type PerShard, runScript, type Shard, type Shards } from '@relay/redis';
import { envelopeIdOf } from './envelope-of-job.js';
import { hasten } from './hasten.adapter.js';
import { LazyQueue } from './lazy-queue.adapter.js';
import { DELIVERIES_QUEUE } from './queues.js';

/** Released jobs are due at random times within this span, not all at once. */
const SPREAD_MS = 500;
const AT_ONCE = 50;
/** A job that was due longer ago has ended, or waits for something else. */
const STALE_MS = 60_000;
/** Longer than the ten minutes for which a job is put off at most. */
const KEPT_MS = 700_000;
/** Origins returned at once. */
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
 * Jobs of origins that have never answered 2xx, to be released at the first 2xx. A held job also becomes due by itself: an
 * entry that a crash loses costs ten minutes at most.
 */
export class UnprovenJobs {
  readonly #held: PerShard<HeldJobs>;

  constructor(shards: Shards) {
    this.#held = shards.per((shard) => new HeldJobs(shard));
  }

  /** To be called when the job is stored. @param at when it is due, epoch milliseconds */
  async hold(origin: string, jobId: string, at: number): Promise<void> {
    await this.#held.of(envelopeIdOf(jobId)).hold(origin, jobId, at);
  }

  /** The job got its turn: it no longer waits for the origin's first 2xx. */
  async drop(origin: string, jobId: string): Promise<void> {
    await this.#held.of(envelopeIdOf(jobId)).drop(origin, jobId);
  }

  /** Origins with held jobs, at most a thousand of each shard, chosen at random. */
  async origins(): Promise<string[]> {
    const found = await Promise.all(this.#held.all.map((jobs) => jobs.origins()));
    return [...new Set(found.flat())];
  }

  /** Makes the held jobs of an origin due at once. */
  async letGo(origin: string): Promise<void> {
    await Promise.all(this.#held.all.map((jobs) => jobs.letGo(origin)));
  }

  /** Forgets those of these origins that have no held jobs. */
  async forget(origins: readonly string[]): Promise<void> {
    await Promise.all(this.#held.all.map((jobs) => jobs.forget(origins)));
  }

  async close(): Promise<void> {
    await Promise.all(this.#held.all.map((jobs) => jobs.close()));
  }
}

/** Those of one shard. */
class HeldJobs {
  readonly #queue: LazyQueue;

  constructor(private readonly shard: Shard) {
    this.#queue = new LazyQueue(DELIVERIES_QUEUE, shard);
  }

  async hold(origin: string, jobId: string, at: number): Promise<void> {
    const key = this.#key(origin);
    await this.shard.redis
      .multi()
      .zadd(key, at, jobId)
      .zremrangebyscore(key, '-inf', Date.now() - STALE_MS)
      .pexpire(key, KEPT_MS)
      .sadd(this.#key(), origin)
      .exec();
  }

  async drop(origin: string, jobId: string): Promise<void> {
    await this.shard.redis.zrem(this.#key(origin), jobId);
  }

  origins(): Promise<string[]> {
    return this.shard.redis.srandmember(this.#key(), String(MOST));
  }

  async letGo(origin: string): Promise<void> {
    const key = this.#key(origin);
    for (;;) {
      const ids = await this.shard.redis.zrange(key, 0, String(AT_ONCE - 1));
      if (ids.length === 0) break;
      await Promise.all(ids.map((id) => hasten(this.#queue, id, Math.random() * SPREAD_MS)));
      await this.shard.redis.zrem(key, ...ids);
    }
    await this.forget([origin]);
  }

  async forget(origins: readonly string[]): Promise<void> {
    if (origins.length > 0) await runScript(this.shard.redis, forgetEmpty, [this.#key()], origins);
  }

  /** Set of the origins with held jobs; of one origin a sorted set of these jobs by due time. */
  #key(...origin: readonly string[]): string {
    return this.shard.key('unproven', 'jobs', ...origin);
  }

  close(): Promise<void> {
    return this.#queue.close();
  }
}
