import { randomBytes, randomUUID } from 'node:crypto';
import { oneShard } from '@relay/redis';
import { describeSeenStore, moveSeenClock, seenGenerations, redisOfSpec } from '@relay/testing';
import { RedisSeenStore } from './redis-seen-store.adapter.js';

const { redis } = await redisOfSpec();

const HOUR = 3_600;
const DAY = 24 * HOUR;
const WINDOW = 72 * HOUR;
const LIFE = DAY + WINDOW + 5 * HOUR;
const BUCKETS = 2 ** 8;
const FULL = 72;

const store = new RedisSeenStore(oneShard(redis), WINDOW * 1_000);

describeSeenStore('RedisSeenStore', () => Promise.resolve(store));

const anEntry = () => ({ id: randomUUID(), hash: randomBytes(8).toString('hex') });
const entries = (count: number) => Array.from({ length: count }, anEntry);
const isKnown = async (id: string): Promise<boolean> => (await store.find([id]))[0] !== undefined;
const mark = async (count: number) => {
  const all = entries(count);
  for (let from = 0; from < count; from += 1_000) await store.markPublished(all.slice(from, from + 1_000));
  return all;
};

describe('the generations of seen marks', () => {
  beforeEach(() => redis.flushall());

  it('opens one for the first id, of 256 buckets, which expire together with it', async () => {
    await mark(3_000);
    const now = async () => Number((await redis.time())[0]);
    const before = await now();
    const [[number, bits, left] = [], ...others] = await seenGenerations(redis);
    const after = await now();
    expect([number, bits, others]).toEqual([1, 8, []]);
    expect(left).toBeGreaterThan(LIFE - 60);
    const keys = await redis.keys('{relay:0}:seen:1:*');
    expect(keys).toHaveLength(BUCKETS);
    const [expires = 0, ...different] = new Set(await Promise.all(keys.map((key) => redis.expiretime(key))));
    expect(different).toEqual([]);
    const asked = expires - (left ?? 0);
    expect(asked).toBeGreaterThanOrEqual(before);
    expect(asked).toBeLessThanOrEqual(after);
  });

  it('opens none for a look-up', async () => {
    await store.find([randomUUID()]);
    expect(await redis.keys('*')).toEqual([]);
  });

  it('opens the next one after a day', async () => {
    await mark(1);
    await moveSeenClock(redis, DAY - 60);
    await mark(1);
    expect(await seenGenerations(redis)).toHaveLength(1);
    await moveSeenClock(redis, 60);
    await mark(1);
    expect((await seenGenerations(redis)).map(([number, bits]) => [number, bits])).toEqual([
      [2, 8],
      [1, 8],
    ]);
  });

  it('opens one of four times as many buckets when one is full within seconds, and never makes a bucket a hashtable', async () => {
    await mark(BUCKETS * FULL * 5 + 2_000);
    expect((await seenGenerations(redis)).map(([, bits]) => bits)).toEqual([12, 10, 8]);
    const asked = redis.pipeline();
    for (const key of await redis.keys('{relay:0}:seen:?:*')) asked.object('ENCODING', key);
    expect(new Set((await asked.exec())?.map(([, encoding]) => encoding))).toEqual(new Set(['listpack']));
  });

  it('chooses the size by the ids of about a day', async () => {
    await mark(BUCKETS * FULL);
    await moveSeenClock(redis, DAY / 2);
    await mark(1);
    expect((await seenGenerations(redis))[0]?.[1]).toBe(10);
    await moveSeenClock(redis, DAY);
    await mark(1);
    expect((await seenGenerations(redis))[0]?.[1]).toBe(8);
  });

  it('fills buckets evenly with ids that begin alike, as time-ordered UUIDs do', async () => {
    const alike = entries(10_000).map(({ hash }) => ({ id: `0193a0b0-c0d0-7${randomUUID().slice(15)}`, hash }));
    for (let from = 0; from < alike.length; from += 1_000) await store.markPublished(alike.slice(from, from + 1_000));
    const sizes = await Promise.all((await redis.keys('{relay:0}:seen:1:*')).map((key) => redis.hlen(key)));
    expect(Math.max(...sizes)).toBeLessThan(100);
  });

  it.each([
    ['right away', 0, true],
    ['at the end of the window', WINDOW, true],
    ['at the end of the window, the clock set forward by 2 h', WINDOW + 2 * HOUR, true],
    ['with the clock set back by 2 h', -2 * HOUR, true],
    ['when its generation is over', LIFE, false],
  ])('finds an id %s', async (_, later, known) => {
    const [first] = await mark(1);
    await moveSeenClock(redis, later);
    expect(await isKnown(first?.id ?? '')).toBe(known);
  });

  it('finds the last id of a generation until the end of the window', async () => {
    await mark(1);
    await moveSeenClock(redis, DAY - 60);
    const [last] = await mark(1);
    await moveSeenClock(redis, WINDOW + 2 * HOUR);
    expect(await isKnown(last?.id ?? '')).toBe(true);
  });

  it('begins with the next number when all generations have expired', async () => {
    await mark(1);
    await moveSeenClock(redis, 30 * DAY);
    const [again] = await mark(1);
    expect((await seenGenerations(redis)).map(([number]) => number)).toEqual([2]);
    expect(await isKnown(again?.id ?? '')).toBe(true);
    expect(await redis.keys('*')).toHaveLength(2);
  });

  it('goes on in its generation when the clock is set back, and opens the next one normally', async () => {
    const [before] = await mark(1);
    await moveSeenClock(redis, -2 * HOUR);
    await mark(BUCKETS * FULL);
    const [after] = await mark(1);
    expect((await seenGenerations(redis)).map(([number]) => number)).toEqual([2, 1]);
    await moveSeenClock(redis, WINDOW);
    expect([await isKnown(before?.id ?? ''), await isKnown(after?.id ?? '')]).toEqual([true, true]);
  });

  it('leaves a mark of an older generation in place', async () => {
    const [first] = await mark(1);
    await moveSeenClock(redis, 2 * DAY);
    await mark(1);
    await store.markPublished([{ id: first?.id ?? '', hash: 'ffffffffffffffff' }]);
    expect((await store.find([first?.id ?? '']))[0]?.hash).toBe(first?.hash);
    expect(await redis.hget('{relay:0}:seen', 'count')).toBe('1');
  });
});
