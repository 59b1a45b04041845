import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { defineScript, runScript, type Shard, Shards } from '@relay/redis';
import { INLINE_BYTES, type Aside, type DeliveryJob } from './delivery-job.js';
import { repliesOf } from './queue-state.adapter.js';

/** A day longer than a dead letter is kept. If a crash leaves a body without a job, the body expires. */
const KEPT_SECONDS = 31 * 86_400;
const TEXT = 'text';

const dropLua = `
local function drop(body, ref)
  redis.call('HDEL', body, ref)
  if redis.call('HLEN', body) <= 1 then redis.call('DEL', body) end
end
`;

/** KEYS: body. ARGV: reference of a removed job. */
const release = defineScript('body-release', `${dropLua}drop(KEYS[1], ARGV[1])\nreturn 1\n`);

/**
 * KEYS: for each job, its key and the key of its body. ARGV: the reference that was just written for each job. If BullMQ
 * ignored an add, the stored job is gone or names another reference, so the script drops the new reference. If a waiting
 * job's body is lost, the script returns the index of the job, from 1, and the reference that the job names.
 */
const settle = defineScript(
  'body-settle',
  `${dropLua}
local lost = {}
for i = 1, #ARGV do
  local body = KEYS[2 * i]
  local data, finished = unpack(redis.call('HMGET', KEYS[2 * i - 1], 'data', 'finishedOn'))
  -- No text inside a string of JSON matches: its quotes have a backslash.
  local named = data and string.match(data, '"bodyRef":"([^"]+)"')
  if named and not finished and redis.call('HEXISTS', body, named) == 0 then
    if redis.call('HEXISTS', body, '${TEXT}') == 1 then redis.call('HSET', body, named, '')
    else lost[#lost + 1], lost[#lost + 2] = i, named end
  end
  if named ~= ARGV[i] then drop(body, ARGV[i]) end
end
return lost
`,
);

type BodyName = Pick<DeliveryJob, 'envelopeId' | 'hash'>;
type StoredBody = BodyName & ({ v: 1; body: string } | { v: 2; bodyRef: string });

const keyOf = (shard: Shard, { envelopeId, hash }: BodyName): string => shard.key('body', `${envelopeId}_${hash}`);

/**
 * Stores large bodies outside the queues. The hash `body:<envelopeId>_<hash>` has the text, and one field for each job and
 * dead letter that refers to it.
 *
 * A body is written before its jobs are added, and the last reference is dropped after its job is removed. A crash can
 * therefore leave a body without a job, but not a job without its body. However, if Redis fails over to a replica that does
 * not have the body yet, a job can lose its body. Therefore `keep` checks the bodies after the jobs are stored.
 */
@Injectable()
export class JobBodies {
  constructor(private readonly shards: Shards) {}

  /** Stores the large bodies. @returns the jobs in the form in which they are to be stored */
  async putAside<T extends DeliveryJob>(jobs: readonly T[]): Promise<(T | Aside<T>)[]> {
    const stored = jobs.map((job) => (Buffer.byteLength(job.body) > INLINE_BYTES ? without(job) : job));
    await this.#write(stored.flatMap((job, index) => (job.v === 2 ? [{ job, text: jobs[index]?.body ?? '' }] : [])));
    return stored;
  }

  /**
   * Drops the new references of jobs that were already in the queue, and writes bodies again that Redis has lost. Call it
   * when the jobs are in their queue.
   */
  async keep<T extends DeliveryJob>(
    jobs: readonly T[],
    stored: readonly (T | Aside<T>)[],
    keyOfJob: (job: T) => string,
  ): Promise<void> {
    const large = stored.flatMap((job, index) => {
      const whole = jobs[index];
      return job.v === 2 && whole !== undefined ? [{ job, text: whole.body, key: keyOfJob(whole) }] : [];
    });
    const parts = this.shards.divide(large, ({ job }) => job.envelopeId);
    await Promise.all(
      parts.map(async ([shard, part]) => {
        const keys = part.flatMap(({ job, key }) => [key, keyOf(shard, job)]);
        const refs = part.map(({ job }) => job.bodyRef);
        const lost = (await runScript(shard.redis, settle, keys, refs)) as (number | string)[];
        const again = part.flatMap(({ job, text }, index) => {
          const at = lost.indexOf(index + 1);
          return at < 0 ? [] : [{ job: { ...job, bodyRef: String(lost[at + 1]) }, text }];
        });
        await this.#write(again);
      }),
    );
  }

  // A transaction is needed; otherwise a release between the two writes could delete the text to which the new references
  // point.
  async #write(jobs: readonly { job: BodyName & { bodyRef: string }; text: string }[]): Promise<void> {
    const bodies = new Map<string, { shard: Shard; text: string; refs: string[] }>();
    for (const { job, text } of jobs) {
      const shard = this.shards.of(job.envelopeId);
      const key = keyOf(shard, job);
      const entry = bodies.get(key) ?? { shard, text, refs: [] };
      bodies.set(key, entry);
      entry.refs.push(job.bodyRef);
    }
    await Promise.all(
      [...bodies].map(async ([key, { shard, text, refs }]) => {
        const write = shard.redis
          .multi()
          .hsetnx(key, TEXT, text)
          .hset(key, Object.fromEntries(refs.map((ref) => [ref, ''])))
          .expire(key, KEPT_SECONDS);
        await repliesOf(write);
      }),
    );
  }

  /** Returns the body of a stored job; undefined if Redis has lost it. */
  async of(stored: StoredBody): Promise<string | undefined> {
    if (stored.v === 1) return stored.body;
    const shard = this.shards.of(stored.envelopeId);
    return (await shard.redis.hget(keyOf(shard, stored), TEXT)) ?? undefined;
  }

  async release(stored: StoredBody): Promise<void> {
    if (stored.v === 1) return;
    const shard = this.shards.of(stored.envelopeId);
    await runScript(shard.redis, release, [keyOf(shard, stored)], [stored.bodyRef]);
  }
}

function without<T extends DeliveryJob>(job: T): Aside<T> {
  const { v: _v, body: _body, ...facts } = job;
  return { ...facts, v: 2, bodyRef: `${job.webhookId}_${job.series}_${randomBytes(6).toString('base64url')}` };
}
