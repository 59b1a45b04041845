import { randomBytes } from 'node:crypto';
import { defineScript, redisKey, runScript } from '@relay/redis';
import type { Redis } from 'ioredis';
import type { DeliveryJob } from './delivery-job.js';
import { INLINE_BYTES, type Aside } from './stored-job.js';

/** Longer than a dead letter is kept: a body that a crash left without a job expires. */
const KEPT_SECONDS = 31 * 86_400;
const TEXT = 'text';

const release = defineScript(
  'body-release',
  `redis.call('HDEL', KEYS[1], ARGV[1])
if redis.call('HLEN', KEYS[1]) <= 1 then redis.call('DEL', KEYS[1]) end
return 1
`,
);

/** KEYS: job and body of each. ARGV: its reference. Returns the indexes, from 1, of waiting jobs whose body lacks the reference. */
const missing = defineScript(
  'body-unknown',
  `local places = {}
for i = 1, #ARGV do
  local job, body = KEYS[2 * i - 1], KEYS[2 * i]
  local waits = redis.call('EXISTS', job) == 1 and redis.call('HEXISTS', job, 'finishedOn') == 0
  if waits and redis.call('HEXISTS', body, ARGV[i]) == 0 then places[#places + 1] = i end
end
return places
`,
);

type BodyName = Pick<DeliveryJob, 'envelopeId' | 'hash'>;
type BodyOwner = BodyName & ({ v: 1; body: string } | { v: 2; bodyRef: string });

const keyOf = ({ envelopeId, hash }: BodyName): string => redisKey('body', `${envelopeId}_${hash}`);

/**
 * Large bodies beside the queues: `{relay:0}:body:<envelopeId>_<hash>` has the text and a field for each job and dead letter
 * that refers to it. A body is written before its jobs are added, and dropped with the last reference, after its job is
 * removed: a crash in between leaves a body without a job, never a job without its body. A failover in between to a replica
 * without the body can do that, so `keep` checks the bodies once the jobs are stored.
 */
export class JobBodies {
  constructor(private readonly redis: Redis) {}

  /** Stores the large bodies. @returns the jobs as they are to be stored */
  async putAside<T extends DeliveryJob>(jobs: readonly T[]): Promise<(T | Aside<T>)[]> {
    const stored = jobs.map((job) => (Buffer.byteLength(job.body) > INLINE_BYTES ? without(job) : job));
    await this.#write(stored.flatMap((job, index) => (job.v === 2 ? [{ job, text: jobs[index]?.body ?? '' }] : [])));
    return stored;
  }

  /** To be called when the jobs are in their queue: writes the bodies again that Redis has lost since. */
  async keep<T extends DeliveryJob>(
    jobs: readonly T[],
    stored: readonly (T | Aside<T>)[],
    keyOfJob: (job: T) => string,
  ): Promise<void> {
    const large = stored.flatMap((job, index) => {
      const whole = jobs[index];
      return job.v === 2 && whole !== undefined ? [{ job, text: whole.body, key: keyOfJob(whole) }] : [];
    });
    if (large.length === 0) return;
    const keys = large.flatMap(({ job, key }) => [key, keyOf(job)]);
    const refs = large.map(({ job }) => job.bodyRef);
    const places = (await runScript(this.redis, missing, keys, refs)) as number[];
    await this.#write(places.flatMap((place) => large[place - 1] ?? []));
  }

  // In transactions: a release in between could drop the text under a new reference.
  async #write(jobs: readonly { job: BodyName & { bodyRef: string }; text: string }[]): Promise<void> {
    const bodies = new Map<string, { text: string; refs: string[] }>();
    for (const { job, text } of jobs) {
      const key = keyOf(job);
      const entry = bodies.get(key) ?? { text, refs: [] };
      bodies.set(key, entry);
      entry.refs.push(job.bodyRef);
    }
    await Promise.all(
      [...bodies].map(async ([key, { text, refs }]) => {
        const replies = await this.redis
          .multi()
          .hsetnx(key, TEXT, text)
          .hset(key, Object.fromEntries(refs.map((ref) => [ref, ''])))
          .expire(key, KEPT_SECONDS)
          .exec();
        for (const [error] of replies ?? []) if (error) throw error;
      }),
    );
  }

  /** The body of a stored job; undefined when Redis has lost it. */
  async of(stored: BodyOwner): Promise<string | undefined> {
    return stored.v === 1 ? stored.body : ((await this.redis.hget(keyOf(stored), TEXT)) ?? undefined);
  }

  /** Drops the reference of a removed job. */
  async release(stored: BodyOwner): Promise<void> {
    if (stored.v === 2) await runScript(this.redis, release, [keyOf(stored)], [stored.bodyRef]);
  }
}

function without<T extends DeliveryJob>(job: T): Aside<T> {
  const { v: _v, body: _body, ...facts } = job;
  return { ...facts, v: 2, bodyRef: `${job.webhookId}_${job.series}_${randomBytes(6).toString('base64url')}` };
}
