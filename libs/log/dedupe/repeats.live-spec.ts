import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { oneShard, shardsOn } from '@relay/redis';
import { redisOfSpec } from '@relay/testing';
import { RedisRepeatCounts, RepeatCounter, type RepeatCount } from './redis-repeat-counts.adapter.js';

const { redis } = await redisOfSpec();
const DAY_S = 86_400;
const counts = new RedisRepeatCounts(oneShard(redis), DAY_S * 1_000);
beforeEach(() => redis.flushall());

const add = (id: string, duplicates: number, conflicts: number): Promise<void> =>
  counts.add(new Map([[id, { duplicates, conflicts }]]));

describe('the counts of ids that came again', () => {
  it('are in the shard of their id', async () => {
    const [divided, ids] = [
      new RedisRepeatCounts(shardsOn(redis, 3), DAY_S * 1_000),
      Array.from({ length: 60 }, () => randomUUID()),
    ];
    await divided.add(new Map(ids.map((id, n) => [id, { duplicates: n, conflicts: 1 }])));
    expect(await Promise.all(ids.map((id) => divided.of(id)))).toEqual(
      ids.map((_, n) => ({ duplicates: n, conflicts: 1 })),
    );
    expect(new Set((await redis.keys('*')).map((key) => key.split(':', 2).join(':'))).size).toBe(3);
  });

  it('are the sums of their days, and nothing of other ids', async () => {
    const [id, other] = [randomUUID(), randomUUID()];
    await add(id, 1, 0);
    await add(other, 5, 0);
    await add(id, 2, 3);
    const [key = ''] = await redis.keys('*repeats*');
    expect(key).toMatch(/^\{relay:0\}:repeats:\d+:\d+$/);
    expect([await counts.of(id), await counts.of(other), await counts.of(randomUUID())]).toEqual([
      { duplicates: 3, conflicts: 3 },
      { duplicates: 5, conflicts: 0 },
      { duplicates: 0, conflicts: 0 },
    ]);
    const [base, day, bucket] = [
      key.split(':').slice(0, -2).join(':'),
      Number(key.split(':').at(-2)),
      key.split(':').at(-1),
    ];
    await redis.rename(key, `${base}:${day - 7}:${bucket}`);
    await add(id, 1, 0);
    await add(other, 1, 0);
    const sum = [await counts.of(id), await counts.of(other)].reduce((all, each) => all + each.duplicates, 0);
    expect(sum).toBe(10);
  });

  it('live for the window and a day', async () => {
    await add(randomUUID(), 1, 0);
    const [key = ''] = await redis.keys('*repeats*');
    const ttl = await redis.ttl(key);
    expect(ttl).toBeGreaterThan(2 * DAY_S - 60);
    expect(ttl).toBeLessThanOrEqual(2 * DAY_S);
  });

  it('take no more than 128 fields of a bucket: further ids are not counted, known ones are', async () => {
    const ids = Array.from({ length: 130 }, (_, n) => `00000000-0000-4000-${String(n).padStart(4, '0')}-000000000000`);
    await counts.add(new Map(ids.map((id) => [id, { duplicates: 1, conflicts: 0 }])));
    expect(await redis.keys('*repeats*')).toHaveLength(1);
    await add(ids[0] as string, 1, 0);
    await add(ids[129] as string, 1, 0);
    const found = await Promise.all(ids.map(async (id) => (await counts.of(id)).duplicates));
    expect(found).toEqual([2, ...Array.from({ length: 127 }, () => 1), 0, 0]);
    const [key = ''] = await redis.keys('*repeats*');
    expect(await redis.object('ENCODING', key)).toBe('listpack');
  });
});

describe('the counter of ids that come again', () => {
  it('gathers them, and goes on after the store was away', async () => {
    const written: [string, RepeatCount][][] = [];
    let isAway = true;
    const counter = new RepeatCounter({
      add: async (batch) => {
        if (isAway) throw new Error('away');
        written.push([...batch]);
      },
    });
    counter.count('lost', 'duplicate');
    await counter.close();
    isAway = false;
    for (const kind of ['duplicate', 'conflict', 'duplicate'] as const) counter.count('a', kind);
    while (written.length === 0) await delay(20);
    expect(written).toEqual([[['a', { duplicates: 2, conflicts: 1 }]]]);
  });

  it('holds 5,000 ids at most', async () => {
    let count = 0;
    const counter = new RepeatCounter({ add: async (batch) => void (count += batch.size) });
    for (let n = 0; n < 5_010; n += 1) counter.count(String(n), 'duplicate');
    counter.count('7', 'duplicate');
    await counter.close();
    expect(count).toBe(5_000);
  });
});
