import { defineScript, redisKey, runScript } from '@relay/redis';
import type { Redis } from 'ioredis';
import { hasten } from './hasten.adapter.js';
import { LazyQueue } from './lazy-queue.adapter.js';
import { DELIVERIES_QUEUE } from './queues.js';

/** Set of the webhooks for which jobs are held; with `:<id>` the set of these jobs. */
const HELD = redisKey('held');
/** Released jobs are due at random times within this span, not all at once. */
const SPREAD_MS = 2_000;
const AT_ONCE = 50;

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
export class DisabledWebhookJobs {
  readonly #queue: LazyQueue;

  constructor(private readonly redis: Redis) {
    this.#queue = new LazyQueue(DELIVERIES_QUEUE, redis);
  }

  /** To be called before the job is put back. */
  async hold(webhookId: string, jobId: string): Promise<void> {
    await this.redis.multi().sadd(`${HELD}:${webhookId}`, jobId).sadd(HELD, webhookId).exec();
  }

  /** The webhooks with held jobs. */
  webhooks(): Promise<string[]> {
    return this.redis.smembers(HELD);
  }

  /** Makes the held jobs of a webhook due within two seconds. */
  async letGo(webhookId: string): Promise<void> {
    const ids = await this.redis.smembers(`${HELD}:${webhookId}`);
    for (let index = 0; index < ids.length; index += AT_ONCE) {
      const slice = ids.slice(index, index + AT_ONCE);
      await Promise.all(slice.map((id) => hasten(this.#queue, id, Math.random() * SPREAD_MS)));
      await runScript(this.redis, drop, [HELD], [webhookId, ...slice]);
    }
    if (ids.length === 0) await runScript(this.redis, drop, [HELD], [webhookId]);
  }

  close(): Promise<void> {
    return this.#queue.close();
  }
}
