import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { shardsOn } from '@relay/redis';
import { redisOfSpec } from '@relay/testing';
import { failureRateOf, RedisAttemptCounts, ShardAttemptCounts, type Failures } from './attempt-counts.adapter.js';
import { historyOf } from './spec-history.js';

const none = (): never => {
  throw new Error('there is no such shard');
};
const { redis } = await redisOfSpec();

describe.each([1, 3])('the counts of attempts over %i shards', (count) => {
  const shards = shardsOn(redis, count);
  let turn = 0;
  /** Read over all shards; what is added comes to one after the other. */
  const countsOf = (windowMs: number) => {
    const add = (failures: readonly Failures[]): Promise<void> =>
      new ShardAttemptCounts(shards.all[(turn += 1) % count] ?? none(), windowMs).add(failures);
    return Object.assign(new RedisAttemptCounts(shards, windowMs), { add });
  };
  beforeEach(() => redis.flushall());

  const [first, second, idle] = [randomUUID(), randomUUID(), randomUUID()];
  const HOUR = 3_600_000;
  const delivered = (lines: number, windowMs: number, webhookId = first): Promise<void> =>
    historyOf(shards, windowMs).add(
      Array.from({ length: lines }, (_, n) => ({
        webhookId,
        envelopeId: randomUUID(),
        acceptedAt: n,
        series: 0,
        attempts: [{ at: n, durationMs: 1, status: 204 }],
      })),
    );
  const failure = (webhookId: string, times: number, at = Date.now()) => ({
    webhookId,
    count: times,
    last: { at, durationMs: 7, status: 503, detail: 'answered 503' },
  });

  it('are those of each webhook, in the order asked for, with the last of either kind', async () => {
    const counts = countsOf(HOUR);
    await delivered(3, HOUR);
    const at = Date.now();
    await counts.add([failure(first, 2, at - 1), failure(second, 5, at)]);
    await counts.add([failure(first, 4, at)]);
    const last = { at, durationMs: 7, status: 503, detail: 'answered 503' };
    const [newest] = await historyOf(shards, HOUR).ofWebhook(first, {}, 1);
    expect(await counts.of([idle, first, second])).toEqual([
      { delivered: 0, failed: 0 },
      {
        delivered: 3,
        failed: 6,
        lastDelivered: expect.objectContaining({ ...newest, webhookId: first }),
        lastFailure: last,
      },
      { delivered: 0, failed: 5, lastFailure: last },
    ]);
  });

  it('are totalled alike for many webhooks', async () => {
    const counts = countsOf(HOUR);
    await delivered(3, HOUR);
    await counts.add([failure(first, 2), failure(second, 5)]);
    const ids = [idle, first, second, ...Array.from({ length: 250 }, () => randomUUID()), first];
    await counts.totalsOf([idle]); // Redis knows the script from now on.
    await redis.config('RESETSTAT');
    const totals = await counts.totalsOf(ids);
    expect(await redis.info('commandstats')).toContain(`cmdstat_evalsha:calls=${3 * count},`);
    expect(totals).toEqual((await counts.of(ids)).map(({ delivered: good, failed }) => ({ delivered: good, failed })));
    expect([totals.length, totals.at(-1), failureRateOf({ delivered: 3, failed: 1 })]).toEqual([
      254,
      { delivered: 3, failed: 2 },
      0.25,
    ]);
    expect(totals.slice(0, 3).map(failureRateOf)).toEqual([null, 0.4, 1]);
    expect(await counts.totalsOf([])).toEqual([]);
  });

  it('have the last good answer that was kept, which counts as no failure', async () => {
    const counts = countsOf(HOUR);
    const good = (status: number, at = 1) => ({
      at,
      durationMs: 7,
      status,
      answer: 'fine',
      answerHeaders: { server: 'a' },
    });
    await counts.add([{ webhookId: first, count: 0, good: good(200) }]);
    expect(await counts.of([first])).toEqual([{ delivered: 0, failed: 0, lastGood: good(200) }]);
    await counts.add([{ ...failure(first, 1), good: good(204, 2) }, failure(second, 1)]);
    await counts.add([failure(first, 1)]);
    expect(await counts.of([first, second])).toMatchObject([{ failed: 2, lastGood: good(204, 2) }, { failed: 1 }]);
  });

  it('leave out what is older than the window, though nothing was written since', async () => {
    await delivered(250, 10_000);
    await delay(20);
    const counts = countsOf(10);
    await counts.add([failure(first, 1, Date.now() - 20)]);
    const [found] = await counts.of([first]);
    expect(found).toEqual({ delivered: 0, failed: 1 });
    await delivered(250, 10_000, second);
    await delay(20);
    expect(await counts.totalsOf([first, second])).toEqual([
      { delivered: 0, failed: 1 },
      { delivered: 0, failed: 0 },
    ]);
  });

  it('forget the hours before the window, and a webhook that fails no more', async () => {
    const key = shards.all[(turn + 1) % count]?.key('failed', first) ?? none();
    const hour = Math.floor(Date.now() / HOUR);
    await redis.hset(key, hour - 3, 100, hour - 2, 10);
    const counts = countsOf(2 * HOUR);
    expect(await counts.of([first])).toEqual([{ delivered: 0, failed: 10 }]);
    expect(await counts.totalsOf([first])).toEqual([{ delivered: 0, failed: 10 }]);
    await counts.add([failure(first, 1)]);
    expect(await counts.of([first])).toMatchObject([{ failed: 11 }]);
    expect(Object.keys(await redis.hgetall(key)).toSorted()).toEqual([`${hour - 2}`, `${hour}`, 'last'].toSorted());
    expect(await redis.pttl(key)).toBeLessThanOrEqual(3 * HOUR);
    expect(await redis.pttl(key)).toBeGreaterThan(0);
  });
});
