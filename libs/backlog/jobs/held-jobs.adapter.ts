import { Inject, Injectable } from '@nestjs/common';
import { defineScript, runScript, type Shard, Shards } from '@relay/redis';
import { DELIVERIES_QUEUE, QUEUE_SHARDS, scoreOf, ShardQueues } from './queues.adapter.js';

/** Jobs that are made due at once. */
const AT_ONCE = 50;

@Injectable()
class DelayedJobs {
  protected readonly queues: ShardQueues;

  /** @param shards over connections for BullMQ */
  constructor(@Inject(QUEUE_SHARDS) shards: Shards) {
    this.queues = new ShardQueues(DELIVERIES_QUEUE, shards);
  }

  close(): Promise<void> {
    return this.queues.close();
  }
}

/** Released jobs of a disabled webhook are due at random times within this span. */
const ENABLED_SPREAD_MS = 2_000;

/** KEYS: index. ARGV: webhook, then its released jobs. */
const drop = defineScript(
  'held-drop',
  `local key = KEYS[1] .. ':' .. ARGV[1]
for i = 2, #ARGV do redis.call('SREM', key, ARGV[i]) end
if redis.call('EXISTS', key) == 0 then redis.call('SREM', KEYS[1], ARGV[1]) end
return 1
`,
);

/**
 * Jobs that were put back because their webhook is disabled, to be released when it is enabled. A held job also becomes due
 * by itself: an entry that a crash loses costs a minute or two.
 */
export class DisabledWebhookJobs extends DelayedJobs {
  /** Stores that the job is held; to be called before the job is put back. */
  async hold(webhookId: string, jobId: string): Promise<void> {
    const { shard } = this.queues.of(jobId);
    await shard.redis.multi().sadd(heldKey(shard, webhookId), jobId).sadd(heldKey(shard), webhookId).exec();
  }

  async webhooks(): Promise<string[]> {
    const found = await this.queues.each(({ shard }) => shard.redis.smembers(heldKey(shard)));
    return [...new Set(found.flat())];
  }

  /** Makes the held jobs of a webhook due within two seconds. */
  async letGo(webhookId: string): Promise<void> {
    await this.queues.each(async (queue) => {
      const { shard } = queue;
      const ids = await shard.redis.smembers(heldKey(shard, webhookId));
      for (let index = 0; index < ids.length; index += AT_ONCE) {
        const slice = ids.slice(index, index + AT_ONCE);
        await queue.hastenAll(slice, ENABLED_SPREAD_MS);
        await runScript(shard.redis, drop, [heldKey(shard)], [webhookId, ...slice]);
      }
      if (ids.length === 0) await runScript(shard.redis, drop, [heldKey(shard)], [webhookId]);
    });
  }
}

/** Key of the set of the webhooks with held jobs, or of one webhook's set of these jobs. */
const heldKey = (shard: Shard, ...webhookId: readonly string[]): string => shard.key('held', ...webhookId);

/** Released jobs of an origin are due at random times within this span. */
const PROVEN_SPREAD_MS = 500;
/** A job that was due longer ago has ended, or waits for something else. */
const STALE_MS = 60_000;
/** Longer than the ten minutes for which a job is put off at most. */
const KEPT_MS = 700_000;
/** Origins returned at once. */
const MOST_ORIGINS = 1_000;

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
export class UnprovenJobs extends DelayedJobs {
  /**
   * Stores that the job is held; to be called when the job is stored.
   * @param at when it is due, epoch milliseconds
   */
  async hold(origin: string, jobId: string, at: number): Promise<void> {
    const { shard } = this.queues.of(jobId);
    const key = unprovenKey(shard, origin);
    await shard.redis
      .multi()
      .zadd(key, at, jobId)
      .zremrangebyscore(key, '-inf', Date.now() - STALE_MS)
      .pexpire(key, KEPT_MS)
      .sadd(unprovenKey(shard), origin)
      .exec();
  }

  /** Drops a job that got its turn: it no longer waits for the origin's first 2xx. */
  async drop(origin: string, jobId: string): Promise<void> {
    const { shard } = this.queues.of(jobId);
    await shard.redis.zrem(unprovenKey(shard, origin), jobId);
  }

  /** Returns the origins with held jobs, at most a thousand of each shard, chosen at random. */
  async origins(): Promise<string[]> {
    const found = await this.queues.each(({ shard }) =>
      shard.redis.srandmember(unprovenKey(shard), String(MOST_ORIGINS)),
    );
    return [...new Set(found.flat())];
  }

  /** Makes the held jobs of an origin due at once. */
  async letGo(origin: string): Promise<void> {
    await this.queues.each(async (queue) => {
      const { redis } = queue.shard;
      const key = unprovenKey(queue.shard, origin);
      for (;;) {
        const ids = await redis.zrange(key, 0, String(AT_ONCE - 1));
        if (ids.length === 0) break;
        await queue.hastenAll(ids, PROVEN_SPREAD_MS);
        await redis.zrem(key, ...ids);
      }
      await forgetIn(queue.shard, [origin]);
    });
  }

  /** Forgets those of these origins that have no held jobs. */
  async forget(origins: readonly string[]): Promise<void> {
    if (origins.length === 0) return;
    await this.queues.each(({ shard }) => forgetIn(shard, origins));
  }
}

const forgetIn = (shard: Shard, origins: readonly string[]): Promise<unknown> =>
  runScript(shard.redis, forgetEmpty, [unprovenKey(shard)], origins);

/** Key of the set of the origins with held jobs, or of one origin's sorted set of these jobs by due time. */
const unprovenKey = (shard: Shard, ...origin: readonly string[]): string => shard.key('unproven', 'jobs', ...origin);

/** Maximum of misdated jobs of one shard that one look mends. */
const MOST_MISDATED = 1_000;
/** Mended jobs are due at random times within this span. */
const MENDED_SPREAD_MS = 10_000;

/** Jobs that are due later than any delivery may wait: the clock by which they were put off was wrong. */
export class MisdatedJobs extends DelayedJobs {
  /**
   * Makes jobs due that are due after this time, epoch milliseconds.
   * @returns how many, at most a thousand of each shard
   */
  async mend(latest: number): Promise<number> {
    const mended = await this.queues.each(async (queue) => {
      const key = queue.shard.key(DELIVERIES_QUEUE, 'delayed');
      const from = scoreOf(latest);
      const ids = await queue.shard.redis.zrange(key, from, '+inf', 'BYSCORE', 'LIMIT', 0, MOST_MISDATED);
      let count = 0;
      for (let at = 0; at < ids.length; at += AT_ONCE)
        count += await queue.hastenAll(ids.slice(at, at + AT_ONCE), MENDED_SPREAD_MS);
      return count;
    });
    return mended.reduce((sum, each) => sum + each, 0);
  }
}
