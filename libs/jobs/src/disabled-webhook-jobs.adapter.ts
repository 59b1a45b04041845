import { defineScript, type PerShard, runScript, type Shard, type Shards } from '@relay/redis';
import { envelopeIdOf } from './envelope-of-job.js';
import { hasten } from './hasten.adapter.js';
import { LazyQueue } from './lazy-queue.adapter.js';
import { DELIVERIES_QUEUE } from './queues.js';

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
  readonly #held: PerShard<HeldJobs>;

  constructor(shards: Shards) {
    this.#held = shards.per((shard) => new HeldJobs(shard));
  }

  /** To be called before the job is put back. */
  async hold(webhookId: string, jobId: string): Promise<void> {
    await this.#held.of(envelopeIdOf(jobId)).hold(webhookId, jobId);
  }

  /** The webhooks with held jobs. */
  async webhooks(): Promise<string[]> {
    const found = await Promise.all(this.#held.all.map((jobs) => jobs.webhooks()));
    return [...new Set(found.flat())];
  }

  /** Makes the held jobs of a webhook due within two seconds. */
  async letGo(webhookId: string): Promise<void> {
    await Promise.all(this.#held.all.map((jobs) => jobs.letGo(webhookId)));
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

  async hold(webhookId: string, jobId: string): Promise<void> {
    await this.shard.redis.multi().sadd(this.#key(webhookId), jobId).sadd(this.#key(), webhookId).exec();
  }

  webhooks(): Promise<string[]> {
    return this.shard.redis.smembers(this.#key());
  }

  async letGo(webhookId: string): Promise<void> {
    const ids = await this.shard.redis.smembers(this.#key(webhookId));
    for (let index = 0; index < ids.length; index += AT_ONCE) {
      const slice = ids.slice(index, index + AT_ONCE);
      await Promise.all(slice.map((id) => hasten(this.#queue, id, Math.random() * SPREAD_MS)));
      await runScript(this.shard.redis, drop, [this.#key()], [webhookId, ...slice]);
    }
    if (ids.length === 0) await runScript(this.shard.redis, drop, [this.#key()], [webhookId]);
  }

  /** Set of the webhooks for which jobs are held; of one webhook the set of these jobs. */
  #key(...webhookId: readonly string[]): string {
    return this.shard.key('held', ...webhookId);
  }

  close(): Promise<void> {
    return this.#queue.close();
  }
}
