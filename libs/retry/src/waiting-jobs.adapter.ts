import { deliveryId } from '@relay/delivery';
import { defineScript, redisKey, runScript } from '@relay/redis';
import type { Redis } from 'ioredis';
import type { DeliveryJob } from './delivery-job.js';

/** Webhooks that have waiting deliveries; with `:<id>` the ids of their jobs. */
const WAITING = redisKey('waiting');
const waitingKey = (webhookId: string): string => `${WAITING}:${webhookId}`;
const JOBS = redisKey('deliveries');

/** KEYS: index. Returns each webhook with how many deliveries wait for it; forgets those for which none does. */
const count = defineScript(
  'waiting-count',
  `local counts = {}
for _, id in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  local waiting = redis.call('SCARD', KEYS[1] .. ':' .. id)
  if waiting == 0 then redis.call('SREM', KEYS[1], id)
  else counts[#counts + 1] = id; counts[#counts + 1] = waiting end
end
return counts
`,
);

/** KEYS: ids of a webhook. ARGV: what the keys of jobs begin with. Drops the ids of jobs that are gone or have ended. */
const recount = defineScript(
  'waiting-recount',
  `for _, id in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  local job = ARGV[1] .. ':' .. id
  if redis.call('EXISTS', job) == 0 or redis.call('HEXISTS', job, 'finishedOn') == 1 then
    redis.call('SREM', KEYS[1], id)
  end
end
return 1
`,
);

type Named = Pick<DeliveryJob, 'webhookId' | 'envelopeId' | 'hash' | 'series'>;

/**
 * How many deliveries wait for each webhook. An id is written before its job is added and dropped after it has ended: a
 * crash in between leaves one too many, until the next recount, never one too few.
 */
export class WaitingJobs {
  constructor(private readonly redis: Redis) {}

  /** To be called before the jobs are added. */
  async add(jobs: readonly Named[]): Promise<void> {
    if (jobs.length === 0) return;
    const pipeline = this.redis.pipeline();
    for (const job of jobs) pipeline.sadd(waitingKey(job.webhookId), deliveryId(job));
    pipeline.sadd(WAITING, [...new Set(jobs.map(({ webhookId }) => webhookId))]);
    for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
  }

  /** To be called after the job has ended. */
  async ended(job: Named): Promise<void> {
    await this.redis.srem(waitingKey(job.webhookId), deliveryId(job));
  }

  /** By webhook id; a webhook for which nothing waits is left out. */
  async counts(): Promise<Map<string, number>> {
    const reply = (await runScript(this.redis, count, [WAITING], [])) as (string | number)[];
    const counts = new Map<string, number>();
    for (let index = 0; index < reply.length; index += 2) counts.set(String(reply[index]), Number(reply[index + 1]));
    return counts;
  }

  /** Of one webhook. */
  of(webhookId: string): Promise<number> {
    return this.redis.scard(waitingKey(webhookId));
  }

  /** Drops what a crash left behind. */
  async recount(webhookId: string): Promise<void> {
    await runScript(this.redis, recount, [waitingKey(webhookId)], [JOBS]);
  }
}
