import { Injectable, Optional } from '@nestjs/common';
import { deliveryId } from '@relay/delivery';
import { defineScript, runScript, type Shard, Shards } from '@relay/redis';
import type { DeliveryJob } from './delivery-job.js';
import { DELIVERIES_QUEUE, DUE_FIELD, INDEXED_S, ofEnvelopeKey, STEPS } from './queues.adapter.js';

/** Maximum of queued deliveries that one script reads. Redis needs about 10 ms for that many. */
const LOOKED_AT_ONCE = 4_000;
/** Maximum of missing jobs that a recount returns for one shard. */
const MOST_MISSING = 100;

const indexLua = `
local function of_envelope(id) return KEYS[2] .. ':' .. string.match(id, '^[^_]*_([^_]*)_') end
local function keep(id, seconds)
  redis.call('SADD', of_envelope(id), 'w:' .. id)
  redis.call('EXPIRE', of_envelope(id), seconds)
end
local function drop(webhook, id)
  redis.call('SREM', of_envelope(id), 'w:' .. id)
  local key = KEYS[1] .. ':' .. webhook
  local bytes = redis.call('HGET', key, id)
  if not bytes then return end
  redis.call('HDEL', key, id)
  redis.call('HINCRBY', KEYS[1], webhook, 0 - bytes) -- -bytes would be -0, which Redis refuses
end
`;

/**
 * KEYS: index by webhook, index by envelope. ARGV: lifetime of the index by envelope in seconds; then webhook id, job id and
 * bytes of each job. A job that is already in the index is not counted again.
 */
const add = defineScript(
  'waiting-add',
  `${indexLua}
for i = 2, #ARGV, 3 do
  keep(ARGV[i + 1], ARGV[1])
  if redis.call('HSETNX', KEYS[1] .. ':' .. ARGV[i], ARGV[i + 1], ARGV[i + 2]) == 1 then
    redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 2])
  end
end
return 1
`,
);

/** KEYS: index by webhook, index by envelope. ARGV: webhook id, job id. */
const ended = defineScript('waiting-ended', `${indexLua}\ndrop(ARGV[1], ARGV[2])\nreturn 1\n`);

/**
 * KEYS: index by webhook. Returns the id, the number of deliveries and their bytes for each webhook. Removes webhooks that
 * have no queued deliveries.
 */
const count = defineScript(
  'waiting-count',
  `local all, counts = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #all, 2 do
  local waiting = redis.call('HLEN', KEYS[1] .. ':' .. all[i])
  if waiting == 0 then redis.call('HDEL', KEYS[1], all[i])
  else
    counts[#counts + 1] = all[i]
    counts[#counts + 1] = waiting
    counts[#counts + 1] = tonumber(all[i + 1])
  end
end
return counts
`,
);

/**
 * KEYS: index by webhook. ARGV: number of queued deliveries to read of each webhook; then the webhook ids. Returns for each
 * webhook when the oldest of the deliveries that were read was accepted, or '' if there is none. After a hash has shrunk,
 * one HSCAN may return fewer entries than COUNT, so the script repeats it until it has enough.
 */
const oldest = defineScript(
  'waiting-oldest',
  `local most, found = tonumber(ARGV[1]), {}
for i = 2, #ARGV do
  local cursor, looked, least = '0', 0, nil
  repeat
    local reply = redis.call('HSCAN', KEYS[1] .. ':' .. ARGV[i], cursor, 'COUNT', ARGV[1])
    cursor, looked = reply[1], looked + #reply[2] / 2
    for n = 1, #reply[2], 2 do
      local at = tonumber(string.match(reply[2][n], '_(-?%d+)$'))
      if at and (not least or at < least) then least = at end
    end
  until cursor == '0' or looked >= most
  found[#found + 1] = least and string.format('%.0f', least) or ''
end
return found
`,
);

/**
 * KEYS: index by webhook, index by envelope. ARGV: webhook id, prefix of the queue's keys, lifetime of the index by envelope
 * in seconds, seconds after which a missing job is returned, field of a job that has its due time, maximum of missing jobs
 * to return, maximum of jobs to read from a list.
 *
 * The script removes the ids of ended jobs, and adds all other jobs to the index by envelope again. If a job has been in no
 * list of the queue for the given seconds, the script makes it due. If the job itself has been missing for that long, the
 * script returns its id, and returns it again only after the same time. A job is counted before it is added, so a missing
 * job may still be about to be added. BullMQ may leave some fields of a missing job. The script deletes them; otherwise
 * BullMQ would ignore a new job with the same id.
 *
 * Returns the number of jobs that were made due, and the ids of the missing jobs.
 */
const recount = defineScript(
  'waiting-recount',
  `${indexLua}
local missing_key = KEYS[1] .. ':' .. ARGV[1] .. ':missing'
local now = tonumber(redis.call('TIME')[1])
local known, pairs_known = {}, redis.call('HGETALL', missing_key)
for i = 1, #pairs_known, 2 do known[pairs_known[i]] = tonumber(pairs_known[i + 1]) end
redis.call('DEL', missing_key)
local function is_overdue(id, has_room)
  local since = known[id] or now
  local overdue = has_room and now - since >= tonumber(ARGV[4])
  redis.call('HSET', missing_key, id, overdue and now or since)
  return overdue
end
local wait, active, delayed, listed = ARGV[2] .. ':wait', ARGV[2] .. ':active', ARGV[2] .. ':delayed', nil
local function is_listed(id)
  if redis.call('ZSCORE', delayed, id) then return true end
  if not listed then
    listed = {}
    if redis.call('LLEN', wait) > tonumber(ARGV[7]) then setmetatable(listed, { __index = function() return true end }) end
    for _, key in ipairs({ wait, active }) do
      for _, each in ipairs(redis.call('LRANGE', key, 0, ARGV[7])) do listed[each] = true end
    end
  end
  return listed[id]
end
local missing, relisted = {}, 0
for _, id in ipairs(redis.call('HKEYS', KEYS[1] .. ':' .. ARGV[1])) do
  local job = ARGV[2] .. ':' .. id
  if redis.call('HEXISTS', job, 'finishedOn') == 1 then drop(ARGV[1], id)
  elseif redis.call('HEXISTS', job, 'data') == 0 then
    if is_overdue(id, #missing < tonumber(ARGV[6])) then
      redis.call('LREM', wait, 0, id)
      redis.call('LREM', active, 0, id)
      redis.call('DEL', job)
      missing[#missing + 1] = id
    end
  else
    keep(id, ARGV[3])
    if not is_listed(id) and is_overdue(id, true) then
      local due = tonumber(redis.call('HGET', job, ARGV[5])) or now * 1000
      redis.call('ZADD', delayed, string.format('%.0f', due * ${STEPS}), id)
      relisted = relisted + 1
    end
  end
end
redis.call('EXPIRE', missing_key, ARGV[3])
return { relisted, missing }
`,
);

type JobName = Pick<DeliveryJob, 'webhookId' | 'envelopeId' | 'hash' | 'series' | 'acceptedAt' | 'waitedSince'>;

/** Differences between the count and the queue that a recount found. */
export interface Recount {
  readonly relisted: number;
  readonly missing: readonly string[];
}

export interface WaitingCount {
  readonly deliveries: number;
  /** Total size of the bodies of these deliveries. */
  readonly bytes: number;
}

/**
 * Counts the queued deliveries of each webhook. A job is added to the count before it is added to the queue, and is removed
 * from the count after it has ended. A crash can therefore leave a count that is too high until the next recount, but never
 * a count that is too low.
 */
@Injectable()
export class WaitingJobs {
  /**
   * @param addedWithinS whole seconds within which a counted job is added to the queue. If a job is not in the queue for
   *   longer, `recount` reports it as missing.
   */
  constructor(
    private readonly shards: Shards,
    @Optional() private readonly addedWithinS = 60,
  ) {}

  /** Counts the jobs. Call it before they are added to the queue. */
  async add(jobs: readonly (JobName & Pick<DeliveryJob, 'body'>)[]): Promise<void> {
    const parts = this.shards.divide(jobs, ({ envelopeId }) => envelopeId);
    await Promise.all(
      parts.map(([shard, part]) => {
        const args = part.flatMap((job) => [job.webhookId, deliveryId(job), Buffer.byteLength(job.body)]);
        return runScript(shard.redis, add, indexesOf(shard), [INDEXED_S, ...args]);
      }),
    );
  }

  /** Removes a job from the count. Call it after the job has ended. */
  async ended(job: JobName): Promise<void> {
    const shard = this.shards.of(job.envelopeId);
    await runScript(shard.redis, ended, indexesOf(shard), [job.webhookId, deliveryId(job)]);
  }

  /** Returns the counts by webhook id. Webhooks without queued deliveries are left out. */
  async counts(): Promise<Map<string, WaitingCount>> {
    const replies = await this.#each((shard) => runScript(shard.redis, count, [waitingKey(shard)], []));
    const counts = new Map<string, WaitingCount>();
    for (const reply of replies as (string | number)[][])
      for (let index = 0; index < reply.length; index += 3) {
        const [id, deliveries, bytes] = [String(reply[index]), Number(reply[index + 1]), Number(reply[index + 2])];
        const others = counts.get(id) ?? { deliveries: 0, bytes: 0 };
        counts.set(id, { deliveries: others.deliveries + deliveries, bytes: others.bytes + bytes });
      }
    return counts;
  }

  /** Returns the number of queued deliveries of a webhook. */
  async of(webhookId: string): Promise<number> {
    const counts = await this.#each((shard) => shard.redis.hlen(waitingKey(shard, webhookId)));
    return counts.reduce((sum, each) => sum + each, 0);
  }

  /** Returns the ids of the queued deliveries of a webhook. Some of these deliveries may just have ended. */
  async ids(webhookId: string): Promise<string[]> {
    return (await this.#each((shard) => shard.redis.hkeys(waitingKey(shard, webhookId)))).flat();
  }

  /**
   * Returns for each webhook when its oldest queued delivery was accepted, in epoch milliseconds. Webhooks without queued
   * deliveries are left out. If a webhook has more than `most` deliveries, the result is the oldest of a random sample of
   * about `most`.
   */
  async oldest(webhookIds: readonly string[], most: number): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    const atOnce = Math.max(1, Math.floor(LOOKED_AT_ONCE / most));
    for (let from = 0; from < webhookIds.length; from += atOnce) {
      const slice = webhookIds.slice(from, from + atOnce);
      const replies = await this.#each((shard) =>
        runScript(shard.redis, oldest, [waitingKey(shard)], [most, ...slice]),
      );
      for (const times of replies as string[][])
        for (const [index, id] of slice.entries())
          if (times[index]) found.set(id, Math.min(Number(times[index]), found.get(id) ?? Infinity));
    }
    return found;
  }

  /**
   * Removes the entries of ended jobs that a crash left behind, and makes jobs due that have been in no list of the queue
   * for `addedWithinS` seconds.
   * @returns the number of jobs that were made due, and the ids of jobs that have been missing for that long. Redis has lost
   *   these jobs, or a crash happened before they were added or after they had ended.
   */
  async recount(webhookId: string): Promise<Recount> {
    const replies = await this.#each((shard) => {
      const limits = [MOST_MISSING, LOOKED_AT_ONCE];
      const args = [webhookId, shard.key(DELIVERIES_QUEUE), INDEXED_S, this.addedWithinS, DUE_FIELD, ...limits];
      return runScript(shard.redis, recount, indexesOf(shard), args);
    });
    const found = replies as [number, string[]][];
    return { relisted: found.reduce((sum, [relisted]) => sum + relisted, 0), missing: found.flatMap(([, ids]) => ids) };
  }

  #each<T>(ask: (shard: Shard) => Promise<T>): Promise<T[]> {
    return Promise.all(this.shards.all.map(ask));
  }
}

/**
 * Without a webhook id, the key of a hash that maps each webhook with queued deliveries to the bytes of their bodies. With a
 * webhook id, the key of a hash that maps each of its jobs to the bytes of the job's body.
 */
const waitingKey = (shard: Shard, ...webhookId: readonly string[]): string => shard.key('waiting', ...webhookId);

const indexesOf = (shard: Shard): [string, string] => [waitingKey(shard), ofEnvelopeKey(shard)];
