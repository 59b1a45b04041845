import { Inject, Injectable } from '@nestjs/common';
import { defineScript, runScript, type Shard, Shards } from '@relay/redis';
import { DELIVERIES_QUEUE, QUEUE_SHARDS, scoreOf, ShardQueues } from './queues.adapter.js';

/** Maximum of jobs that are made due in parallel. */
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

/** When a webhook is enabled, its paused jobs become due at random times within this span. */
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
 * Jobs that were put back because their webhook is disabled. They are released when the webhook is enabled. Each of these
 * jobs also becomes due by itself, so if a crash loses an entry, its job is only a minute or two late.
 */
export class DisabledWebhookJobs extends DelayedJobs {
  /** Records that the job is paused. Call it before the job is put back into the queue. */
  async hold(webhookId: string, jobId: string): Promise<void> {
    const { shard } = this.queues.of(jobId);
    await shard.redis.multi().sadd(heldKey(shard, webhookId), jobId).sadd(heldKey(shard), webhookId).exec();
  }

  async webhooks(): Promise<string[]> {
    const found = await this.queues.each(({ shard }) => shard.redis.smembers(heldKey(shard)));
    return [...new Set(found.flat())];
  }

  /** Makes the paused jobs of a webhook due within two seconds. */
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

/**
 * Without a webhook id, the key of the set of webhooks that have paused jobs; with one, the key of the set of this webhook's
 * paused jobs.
 */
const heldKey = (shard: Shard, ...webhookId: readonly string[]): string => shard.key('held', ...webhookId);

/** After the first 2xx of an origin, its paused jobs become due at random times within this span. */
const PROVEN_SPREAD_MS = 500;
/** A job whose due time is longer ago has ended, or waits for another reason. Its entry is removed. */
const STALE_MS = 60_000;
/** Lifetime of an origin's entries. A job is delayed by ten minutes at most, and its entry must last longer than that. */
const KEPT_MS = 700_000;
/** Maximum of origins that one call returns for each shard. */
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
 * Jobs of origins that have never answered 2xx. They are released at the first 2xx of their origin. Each of these jobs also
 * becomes due by itself, so if a crash loses an entry, its job is ten minutes late at most.
 */
export class UnprovenJobs extends DelayedJobs {
  /**
   * Records that the job is paused. Call it when the job is stored.
   * @param at epoch milliseconds at which the job is due
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

  /** Removes the entry of a job that got its turn, because it no longer waits for the first 2xx of the origin. */
  async drop(origin: string, jobId: string): Promise<void> {
    const { shard } = this.queues.of(jobId);
    await shard.redis.zrem(unprovenKey(shard, origin), jobId);
  }

  /** Returns origins that have paused jobs, chosen at random, at most a thousand of each shard. */
  async origins(): Promise<string[]> {
    const found = await this.queues.each(({ shard }) =>
      shard.redis.srandmember(unprovenKey(shard), String(MOST_ORIGINS)),
    );
    return [...new Set(found.flat())];
  }

  /** Makes all paused jobs of an origin due within half a second. */
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

  /** Removes the given origins that have no paused jobs from the index. */
  async forget(origins: readonly string[]): Promise<void> {
    if (origins.length === 0) return;
    await this.queues.each(({ shard }) => forgetIn(shard, origins));
  }
}

const forgetIn = (shard: Shard, origins: readonly string[]): Promise<unknown> =>
  runScript(shard.redis, forgetEmpty, [unprovenKey(shard)], origins);

/**
 * Without an origin, the key of the set of origins that have paused jobs; with one, the key of the sorted set of this
 * origin's paused jobs by due time.
 */
const unprovenKey = (shard: Shard, ...origin: readonly string[]): string => shard.key('unproven', 'jobs', ...origin);

/** Maximum of misdated jobs that one call corrects in each shard. */
const MOST_MISDATED = 1_000;
/** Corrected jobs become due at random times within this span. */
const MENDED_SPREAD_MS = 10_000;

/** Jobs whose due time is later than any delivery may wait. They were stored while the clock of the host was wrong. */
export class MisdatedJobs extends DelayedJobs {
  /**
   * Makes all jobs due soon whose due time is later than `latest`, in epoch milliseconds.
   * @returns the number of jobs that were corrected, at most a thousand of each shard
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
