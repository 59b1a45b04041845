import { randomBytes } from 'node:crypto';
import { defineScript, redisKey, runScript } from '@relay/redis';
import type { Redis } from 'ioredis';
import type { DeliveryJob } from './delivery-job.js';
import { INLINE_BYTES, type Aside } from './stored-job.js';

/** Longer than a dead letter is kept: what a crash left behind without a job goes by itself. */
const KEPT_SECONDS = 31 * 86_400;
const TEXT = 'text';

const release = defineScript(
  'body-release',
  `redis.call('HDEL', KEYS[1], ARGV[1])
if redis.call('HLEN', KEYS[1]) <= 1 then redis.call('DEL', KEYS[1]) end
return 1
`,
);

type Named = Pick<DeliveryJob, 'envelopeId' | 'hash'>;
type Stored = Named & ({ v: 1; body: string } | { v: 2; bodyRef: string });

const keyOf = ({ envelopeId, hash }: Named): string => redisKey('body', `${envelopeId}_${hash}`);

/**
 * Large bodies beside the queues: `{relay:0}:body:<envelopeId>_<hash>` has the text and a field for each job and letter
 * that refers to it. It is written before they are added and dropped with the last reference, which goes only after its
 * job is gone: a crash in between leaves a body without a job, never a job without its body.
 */
export class JobBodies {
  constructor(private readonly redis: Redis) {}

  /** The jobs as they are to be stored; resolves when every body that is not in its job is. */
  async putAside<T extends DeliveryJob>(jobs: readonly T[]): Promise<(T | Aside<T>)[]> {
    const stored = jobs.map((job) => (Buffer.byteLength(job.body) > INLINE_BYTES ? without(job) : job));
    const bodies = new Map<string, { text: string; refs: string[] }>();
    for (const [index, job] of stored.entries()) {
      if (job.v === 1) continue;
      const key = keyOf(job);
      const entry = bodies.get(key) ?? { text: jobs[index]?.body ?? '', refs: [] };
      bodies.set(key, entry);
      entry.refs.push(job.bodyRef);
    }
    // Each in a transaction: a release in between could drop the text under a reference just written.
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
    return stored;
  }

  /** The body of a stored job; undefined when Redis has lost it. */
  async of(stored: Stored): Promise<string | undefined> {
    return stored.v === 1 ? stored.body : ((await this.redis.hget(keyOf(stored), TEXT)) ?? undefined);
  }

  /** Drops the reference of a job that is gone. */
  async release(stored: Stored): Promise<void> {
    if (stored.v === 2) await runScript(this.redis, release, [keyOf(stored)], [stored.bodyRef]);
  }
}

function without<T extends DeliveryJob>(job: T): Aside<T> {
  const { v: _v, body: _body, ...facts } = job;
  return { ...facts, v: 2, bodyRef: `${job.webhookId}_${job.series}_${randomBytes(6).toString('base64url')}` };
}
