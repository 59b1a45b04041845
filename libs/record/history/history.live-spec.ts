import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { shardsOn, type Shards } from '@relay/redis';
import { idsOfEach, redisOfSpec } from '@relay/testing';
import { failureRateOf, RedisAttemptCounts, ShardAttemptCounts, type NewAttempts } from './attempt-counts.adapter.js';
import { RedisDeliveryHistory, ShardHistory } from './delivery-history.adapter.js';
import type { DeliveredLine } from './history-line.js';

const { redis } = await redisOfSpec();

const [first, second] = [randomUUID(), randomUUID()];
let begun = 1_900_000_000_000;
const aLine = (webhookId = first, envelopeId: string = randomUUID()) => ({
  webhookId,
  envelopeId,
  acceptedAt: (begun += 1) - 12,
  series: 0,
  attempts: [{ at: begun, durationMs: 41, status: 204 }],
});
const none = (): never => {
  throw new Error('there is no such shard');
};

/** A history that is read over all shards, and written to each of them as workers do. */
function historyOf(
  shards: Shards,
  windowMs: number,
): RedisDeliveryHistory & { add(lines: readonly DeliveredLine[]): Promise<void> } {
  const add = async (lines: readonly DeliveredLine[]): Promise<void> => {
    for (const [shard, part] of shards.divide(lines, ({ envelopeId }) => envelopeId))
      await new ShardHistory(shard, windowMs).add(part);
  };
  return Object.assign(new RedisDeliveryHistory(shards, windowMs), { add });
}

describe.each([1, 3])('delivery history over %i shards', (count) => {
  beforeEach(() => redis.flushall());

  const shards = shardsOn(redis, count);
  const history = (windowMs = 3_600_000) => historyOf(shards, windowMs);

  it('returns a line as it was added, whatever its attempts', async () => {
    const attempts = [
      { at: 1, durationMs: 0, error: 'timeout', detail: 'no answer within 15000 ms, "é"' },
      { at: 2, durationMs: 15_000, status: 500, detail: 'answered 500', answer: '{"error":"é"}' },
      { at: 3, durationMs: 7, status: 204 },
    ];
    const line = { ...aLine(), acceptedAt: -5, series: 1_001, attempts };
    await history().add([line]);
    expect(await history().ofWebhook(first, {}, 10)).toEqual([
      { ...line, endedAt: expect.any(Number), place: expect.any(Number) },
    ]);
    expect(await history().ofEnvelope(line.envelopeId, [second, first])).toEqual([
      { ...line, endedAt: expect.any(Number), place: expect.any(Number) },
    ]);
  });

  it('lists the lines of one webhook, newest first, up to the limit, from since to before until', async () => {
    const lines = [aLine(), aLine(second), aLine(), aLine()];
    for (const line of lines) {
      await history().add([line]);
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    const idsOf = (found: readonly { envelopeId: string }[]): string[] => found.map(({ envelopeId }) => envelopeId);
    const all = await history().ofWebhook(first, {}, 10);
    expect(idsOf(all)).toEqual([lines[3], lines[2], lines[0]].map((line) => line?.envelopeId));
    expect(idsOf(await history().ofWebhook(first, {}, 2))).toEqual(idsOf(all).slice(0, 2));
    const since = all[1]?.endedAt;
    expect(idsOf(await history().ofWebhook(first, { since }, 10))).toEqual(idsOf(all).slice(0, 2));
    expect(idsOf(await history().ofWebhook(first, { until: since }, 10))).toEqual(idsOf(all).slice(2));
    expect(await history().ofWebhook(randomUUID(), {}, 10)).toEqual([]);
  });

  it('continues after the last line of a page, also when many ended in the same millisecond', async () => {
    await history().add(Array.from({ length: 500 }, () => aLine()));
    const all = await history().ofWebhook(first, {}, 1_000);
    expect(all).toHaveLength(500);
    const seen: string[] = [];
    for (let page = await history().ofWebhook(first, {}, 7); page.length > 0;) {
      seen.push(...page.map(({ envelopeId }) => envelopeId));
      page = await history().ofWebhook(first, { before: page.at(-1) }, 7);
    }
    expect(seen).toEqual(all.map(({ envelopeId }) => envelopeId));
    expect(await history().ofWebhook(first, { until: 0 }, 7)).toEqual([]);
    for (const place of [0, 1])
      expect(await history().ofWebhook(first, { before: { endedAt: 0, place } }, 7)).toEqual([]);
  });

  it('is in every shard, and its places are those of Redis where there is one', async () => {
    await history().add(Array.from({ length: 60 }, () => aLine()));
    const keys = shards.all.map((shard) => shard.key('history', first));
    expect(await redis.exists(keys)).toBe(count);
    if (count > 1) return;
    const stored = await redis.xrevrange(keys[0] ?? '', '+', '-');
    const shown = await history().ofWebhook(first, {}, 60);
    expect(shown.map(({ endedAt, place }) => `${endedAt}-${place}`)).toEqual(stored.map(([id]) => id));
  });

  it('shows each line once, in one order, though lines of all shards ended in the same milliseconds', async () => {
    await history().add(Array.from({ length: 90 }, () => aLine()));
    const now = Date.now();
    // In each shard again from the first place of each of three milliseconds on.
    for (const shard of shards.all) {
      const key = shard.key('history', first);
      const entries = await redis.xrange(key, '-', '+');
      await redis.del(key);
      for (const [index, [, fields]] of entries.entries())
        await redis.xadd(key, `${now - 3 + Math.floor((3 * index) / entries.length)}-*`, ...fields);
    }
    const all = await history().ofWebhook(first, {}, 200);
    expect(new Set(all.map(({ envelopeId }) => envelopeId)).size).toBe(90);
    expect(new Set(all.map(({ endedAt }) => endedAt)).size).toBe(3);
    expect(new Set(all.map(({ endedAt, place }) => `${endedAt}-${place}`)).size).toBe(90);
    expect(all).toEqual(all.toSorted((a, b) => b.endedAt - a.endedAt || b.place - a.place));
    for (const limit of [1, 2, 3, 7, 89]) {
      const seen: unknown[] = [];
      for (let page = await history().ofWebhook(first, {}, limit); page.length > 0;) {
        seen.push(...page);
        page = await history().ofWebhook(first, { before: page.at(-1) }, limit);
      }
      expect(seen).toEqual(all);
    }
    for (const until of [now - 3, now - 2, now - 1, now])
      expect(await history().ofWebhook(first, { until, since: until - 1 }, 200)).toEqual(
        all.filter(({ endedAt }) => endedAt === until - 1),
      );
  });

  it('asks each shard for twice its share of a page, once', async () => {
    // One line of each shard after the other, so that the newest are of all.
    for (let n = 0; n < 120; n += 1) await history().add(idsOfEach(shards, 1).map((id) => aLine(first, id)));
    const asked: number[] = [];
    const monitor = await redis.monitor();
    monitor.on('monitor', (_time: string, args: string[]) => {
      if (args[0]?.toLowerCase() === 'xrevrange') asked.push(Number(args.at(-1)));
    });
    const page = await history().ofWebhook(first, {}, 60);
    while (asked.length < count) await new Promise((resolve) => setTimeout(resolve, 10));
    monitor.disconnect();
    expect([page.length, asked]).toEqual([60, count === 1 ? [60] : [40, 40, 40]]);
  });

  it('shows whole pages of a shard that has all lines', async () => {
    const envelopeId = randomUUID();
    await history().add(Array.from({ length: 50 }, () => aLine(first, envelopeId)));
    const all = await history().ofWebhook(first, {}, 50);
    expect(all).toHaveLength(50);
    expect(await history().ofWebhook(first, {}, 20)).toEqual(all.slice(0, 20));
  });

  it('finds every delivery of an envelope to the given webhooks', async () => {
    const line = aLine();
    const again = aLine(first, line.envelopeId);
    // The second time the same line: a batch whose acknowledgement was lost.
    await history().add([line, aLine(second, line.envelopeId), aLine(), again, line]);
    const found = await history().ofEnvelope(line.envelopeId, [first]);
    expect(found.map(({ webhookId, envelopeId }) => [webhookId, envelopeId])).toEqual([
      [first, line.envelopeId],
      [first, line.envelopeId],
    ]);
    expect(await history().ofEnvelope(line.envelopeId, [])).toEqual([]);
    expect(await history().ofEnvelope(randomUUID(), [first, second])).toEqual([]);
  });

  it('finds the deliveries of an envelope to many webhooks with about one read for each', async () => {
    const line = aLine();
    const webhookIds = Array.from({ length: 300 }, () => randomUUID());
    for (const webhookId of webhookIds) {
      await history().add([aLine(webhookId, line.envelopeId)]);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const calls = async (): Promise<number> =>
      Number(/cmdstat_xrange:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
    const before = await calls();
    const found = await history().ofEnvelope(line.envelopeId, webhookIds);
    expect(new Set(found.map(({ webhookId }) => webhookId))).toEqual(new Set(webhookIds));
    expect((await calls()) - before).toBeLessThan(2 * webhookIds.length);
  });

  it('finds the newest thousand deliveries of an envelope that was replayed more often', async () => {
    const envelopeId = randomUUID();
    const lines = Array.from({ length: 1_100 }, () => aLine(first, envelopeId));
    for (let from = 0; from < lines.length; from += 10) {
      await history().add(lines.slice(from, from + 10));
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const begins = (await history().ofEnvelope(envelopeId, [first])).map(({ attempts }) => attempts[0]?.at ?? 0);
    expect(begins.toSorted((a, b) => a - b)).toEqual(lines.slice(-1_000).map(({ attempts }) => attempts[0]?.at));
  });

  it('keeps envelopes in other buckets than anybody outside could tell, the same for all processes', async () => {
    const ids = Array.from({ length: 20 }, () => randomUUID());
    const bucketsOf = async (): Promise<string[]> => {
      await redis.flushall();
      const [one, other] = [history(), history()];
      for (const [n, id] of ids.entries()) await (n % 2 === 0 ? one : other).add([aLine(first, id)]);
      for (const id of ids) expect(await history().ofEnvelope(id, [first])).toHaveLength(1);
      return (await redis.keys('*history:of:*')).map((key) => key.split(':').at(-1) ?? '').toSorted();
    };
    expect(await bucketsOf()).not.toEqual(await bucketsOf());
  });

  it('expires after its window, also for a webhook with new deliveries', async () => {
    const old = aLine();
    await history(2_000).add([old, aLine(second), ...Array.from({ length: 300 }, () => aLine())]);
    for (let n = 0; n < 8; n += 1) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await history(2_000).add(Array.from({ length: 50 }, () => aLine()));
    }
    const kept = await history(2_000).ofWebhook(first, {}, 1_000);
    expect(kept.length).toBeGreaterThan(0);
    expect(kept.length).toBeLessThanOrEqual(400); // nothing of the first 300
    const lengths = await Promise.all(shards.all.map((shard) => redis.xlen(shard.key('history', first))));
    expect(lengths.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(400 + 200 * count); // whole nodes are dropped
    expect(await history(2_000).ofEnvelope(old.envelopeId, [first])).toEqual([]);
    expect(await redis.keys(`*${second}*`)).toEqual([]);
    for (const key of await redis.keys('*')) expect(await redis.pttl(key)).not.toBe(-1); // none for ever
  });
});

describe('delivery history', () => {
  beforeEach(() => redis.flushall());

  const history = historyOf(shardsOn(redis, 1), 3_600_000);

  it('takes less than 120 bytes of Redis for a delivery of one attempt, at ten a second', async () => {
    const used = async (): Promise<number> => Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
    const lines = 36_000;
    const before = await used();
    for (let done = 0; done < lines; done += 500) await history.add(Array.from({ length: 500 }, () => aLine()));
    const bytes = ((await used()) - before) / lines;
    process.stdout.write(`history: ${bytes.toFixed(1)} bytes of Redis for a delivery\n`);
    expect(bytes).toBeLessThan(120);
  });
});

describe.each([1, 3])('the counts of attempts over %i shards', (count) => {
  const shards = shardsOn(redis, count);
  let turn = 0;
  /** Read over all shards; what is added comes to one after the other. */
  const countsOf = (windowMs: number) => {
    const add = (attempts: readonly NewAttempts[]): Promise<void> =>
      new ShardAttemptCounts(shards.all[(turn += 1) % count] ?? none(), windowMs).add(attempts);
    return Object.assign(new RedisAttemptCounts(shards, windowMs), { add });
  };
  beforeEach(() => redis.flushall());

  const idle = randomUUID();
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
    failed: times,
    delivered: 0,
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
    await counts.add([{ webhookId: first, failed: 0, delivered: 0, good: good(200) }]);
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

  it('are summed by the hour over webhooks and shards, also of hours that only failures were counted in', async () => {
    const [counts, hour] = [countsOf(3 * HOUR), Math.floor(Date.now() / HOUR)];
    await redis.hset(shards.all[0]?.key('failed', first) ?? none(), hour - 2, 10);
    for (const webhookId of [first, second, first])
      await counts.add([{ ...failure(webhookId, 2), delivered: 5, good: { at: 1, durationMs: 1 } }]);
    const [from, now] = [hour - 3, hour].map((at) => new Date(at * HOUR).toISOString());
    const row = (at: number, good = 0, failedAttempts = 0) => ({
      at: new Date(at * HOUR).toISOString(),
      delivered: good,
      failedAttempts,
    });
    const all = await counts.hours([first, second], {});
    expect(all).toEqual([row(hour - 3), row(hour - 2, 0, 10), row(hour - 1), row(hour, 15, 6)]);
    expect(await counts.hours([second], { since: '1970-01-01T00:00:00Z' })).toEqual([
      ...[3, 2, 1].map((ago) => row(hour - ago)),
      row(hour, 5, 2),
    ]);
    expect(await counts.hours([first], { since: now })).toEqual([row(hour, 10, 4)]);
    expect(await counts.hours([first], { until: now })).toHaveLength(3);
    expect(await counts.hours([first], { until: from })).toEqual([]);
    // What versions before this one read.
    expect(await counts.totalsOf([first])).toEqual([{ delivered: 0, failed: 14 }]);
  });

  it('forget the hours before the window, and a webhook that fails no more', async () => {
    const key = shards.all[(turn + 1) % count]?.key('failed', first) ?? none();
    const hour = Math.floor(Date.now() / HOUR);
    await redis.hset(key, hour - 3, 100, hour - 2, 10, `d${hour - 3}`, 1, `d${hour - 2}`, 1);
    const counts = countsOf(2 * HOUR);
    expect(await counts.of([first])).toEqual([{ delivered: 0, failed: 10 }]);
    expect(await counts.totalsOf([first])).toEqual([{ delivered: 0, failed: 10 }]);
    await counts.add([failure(first, 1)]);
    expect(await counts.of([first])).toMatchObject([{ failed: 11 }]);
    expect(Object.keys(await redis.hgetall(key)).toSorted()).toEqual(
      [`${hour - 2}`, `${hour}`, `d${hour - 2}`, 'last'].toSorted(),
    );
    expect(await redis.pttl(key)).toBeLessThanOrEqual(3 * HOUR);
    expect(await redis.pttl(key)).toBeGreaterThan(0);
  });
});
