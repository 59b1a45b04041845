import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { oneShard, shardsOn } from '@relay/redis';
import { redisOfSpec } from '@relay/testing';
import { dueTimeOf } from './queues.adapter.js';
import { WaitingJobs } from './waiting-jobs.adapter.js';

const { redis } = await redisOfSpec();

describe('waiting jobs', () => {
  const waiting = new WaitingJobs(oneShard(redis));
  beforeEach(() => redis.flushall());

  const aJob = (webhookId: string, envelopeId: string, body = '{"é":1}') => ({
    webhookId,
    envelopeId,
    hash: 'aaaa',
    series: 0,
    acceptedAt: 1,
    body,
  });
  const keyOf = (webhookId: string, envelopeId: string): string =>
    `{relay:0}:deliveries:${webhookId}_${envelopeId}_aaaa_0_1`;

  it('are counted by webhook with their bytes, each once however often it is added, until they end', async () => {
    await waiting.add([]);
    expect(await waiting.counts()).toEqual(new Map());
    await waiting.add([aJob('w1', 'e1'), aJob('w1', 'e2', 'x'.repeat(92)), aJob('w2', 'e1')]);
    await waiting.add([aJob('w1', 'e1')]);
    await waiting.add([aJob('w1', 'empty', '')]);
    await waiting.ended(aJob('w1', 'empty'));
    expect(await waiting.counts()).toEqual(
      new Map([
        ['w1', { deliveries: 2, bytes: 100 }],
        ['w2', { deliveries: 1, bytes: 8 }],
      ]),
    );
    await waiting.ended(aJob('w1', 'e1'));
    await waiting.ended(aJob('w1', 'e1'));
    await waiting.ended(aJob('w2', 'e1'));
    expect(await waiting.counts()).toEqual(new Map([['w1', { deliveries: 1, bytes: 92 }]]));
    expect([await waiting.of('w1'), await waiting.of('w2')]).toEqual([1, 0]);
    await waiting.ended(aJob('w1', 'e2'));
    await waiting.counts();
    expect(await redis.keys('*')).toEqual([]);
  });

  it('are counted over all shards, and end in their own', async () => {
    const shards = shardsOn(redis, 3);
    const divided = new WaitingJobs(shards);
    const jobs = Array.from({ length: 60 }, (_, n) => ({ ...aJob('w', randomUUID()), acceptedAt: 1_000 - n }));
    await divided.add(jobs);
    const used = await Promise.all(shards.all.map((shard) => redis.hlen(shard.key('waiting', 'w'))));
    expect(Math.min(...used)).toBeGreaterThan(0);
    expect(await divided.counts()).toEqual(new Map([['w', { deliveries: 60, bytes: 480 }]]));
    expect([await divided.of('w'), new Set(await divided.ids('w')).size]).toEqual([60, 60]);
    expect(await divided.oldest(['w'], 100)).toEqual(new Map([['w', 941]]));
    for (const job of jobs) await divided.ended(job);
    expect(await divided.counts()).toEqual(new Map());
    expect(await redis.keys('*')).toEqual([]);
  });

  it('tell since when the oldest of a webhook waits, of very many by a part of them', async () => {
    const at = (webhookId: string, envelopeId: string, acceptedAt: number) => ({
      ...aJob(webhookId, envelopeId),
      acceptedAt,
    });
    const many = Array.from({ length: 2_000 }, (_, n) => at('many', `e${n}`, 10_000 + n));
    await waiting.add([at('w1', 'e1', 3_000), at('w1', 'e2', 2_000), at('w2', 'e1', -5), ...many]);
    expect(await waiting.oldest(['w1', 'none', 'w2', 'many'], 10_000)).toEqual(
      new Map([
        ['w1', 2_000],
        ['w2', -5],
        ['many', 10_000],
      ]),
    );
    const [some] = [...(await waiting.oldest(['many'], 100)).values()];
    expect(some).toBeGreaterThanOrEqual(10_000);
    expect(some).toBeLessThan(12_000);
    // What is left in a table that was large is found all the same.
    for (const job of many.slice(0, -1)) await waiting.ended(job);
    expect(await waiting.oldest(['many'], 10)).toEqual(new Map([['many', 11_999]]));
    expect(await waiting.oldest([], 10)).toEqual(new Map());
  });

  it('that have ended do not count after a recount; those that are missing for long are named, and count until they end', async () => {
    const impatient = new WaitingJobs(oneShard(redis), 1);
    await waiting.add([aJob('w', 'gone'), aJob('w', 'ended'), aJob('w', 'there'), aJob('w', 'added late')]);
    await redis.hset(keyOf('w', 'ended'), 'data', '{}', 'finishedOn', '1');
    await redis.hset(keyOf('w', 'there'), 'data', '{}');
    await redis.lpush('{relay:0}:deliveries:wait', 'w_there_aaaa_0_1', 'w_gone_aaaa_0_1');
    await redis.lpush('{relay:0}:deliveries:active', 'w_gone_aaaa_0_1');
    await redis.hset(keyOf('w', 'gone'), 'failedReason', 'Missing key for job');
    // A job is counted before it is added.
    expect(await impatient.recount('w')).toEqual({ relisted: 0, missing: [] });
    expect(await waiting.of('w')).toBe(3);
    await redis.hset(keyOf('w', 'added late'), 'data', '{}');
    await redis.zadd('{relay:0}:deliveries:delayed', 1, 'w_added late_aaaa_0_1');
    const found = [];
    for (; found.length === 0; await delay(50)) found.push(...(await impatient.recount('w')).missing);
    expect(found).toEqual(['w_gone_aaaa_0_1']);
    // Its id is in no list, so that it can be added again; it is named again when it has been missing for as long once more.
    expect(await redis.lrange('{relay:0}:deliveries:wait', 0, -1)).toEqual(['w_there_aaaa_0_1']);
    expect(await redis.exists('{relay:0}:deliveries:active', keyOf('w', 'gone'))).toBe(0);
    expect(await impatient.recount('w')).toEqual({ relisted: 0, missing: [] });
    expect(await waiting.of('w')).toBe(3);
    await waiting.ended(aJob('w', 'gone'));
    expect((await waiting.ids('w')).toSorted()).toEqual(['w_added late_aaaa_0_1', 'w_there_aaaa_0_1']);
    expect(await waiting.counts()).toEqual(new Map([['w', { deliveries: 2, bytes: 16 }]]));
    await impatient.recount('w');
    expect(await redis.keys('*:missing')).toEqual([]);
  });

  it('that are in no list for long become due at their time', async () => {
    const impatient = new WaitingJobs(oneShard(redis), 1);
    const due = Date.now() + 60_000;
    await waiting.add([aJob('w', 'new'), aJob('w', 'put back'), aJob('w', 'active')]);
    await redis.hset(keyOf('w', 'new'), 'data', '{}');
    await redis.hset(keyOf('w', 'put back'), 'data', '{}', 'dueAt', due);
    await redis.hset(keyOf('w', 'active'), 'data', '{}');
    await redis.lpush('{relay:0}:deliveries:active', 'w_active_aaaa_0_1');
    let relisted = 0;
    for (; relisted === 0; await delay(50)) relisted = (await impatient.recount('w')).relisted;
    expect(relisted).toBe(2);
    const times = await redis.zrange('{relay:0}:deliveries:delayed', '0', '-1', 'WITHSCORES');
    expect([times[0], times[2], dueTimeOf(times[3] ?? '')]).toEqual(['w_new_aaaa_0_1', 'w_put back_aaaa_0_1', due]);
    expect(dueTimeOf(times[1] ?? '')).toBeLessThanOrEqual(Date.now());
    expect(await impatient.recount('w')).toEqual({ relisted: 0, missing: [] });
    expect(await redis.keys('*:missing')).toEqual([]);
  });

  it('beyond a hundred that are missing are named by and by', async () => {
    const impatient = new WaitingJobs(oneShard(redis), 1);
    await waiting.add(Array.from({ length: 130 }, (_, n) => aJob('w', `e${n}`)));
    const named = new Set<string>();
    for (; named.size === 0; await delay(50)) for (const id of (await impatient.recount('w')).missing) named.add(id);
    expect(named.size).toBe(100);
    for (const id of (await impatient.recount('w')).missing) named.add(id);
    expect(named.size).toBe(130);
  });
});
