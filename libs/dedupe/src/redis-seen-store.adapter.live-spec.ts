import { describeSeenStore, startRedisServer, type RedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import { RedisSeenStore } from './redis-seen-store.adapter.js';
import { hashBytes, idBytes } from './seen-mark.js';

const DAYS = 3;
const id = 'ab12cdef-0000-4000-8000-000000000001';
const hash = '0123456789abcdef';

let server: RedisServer;
let redis: Redis;
let store: RedisSeenStore;

beforeAll(async () => {
  server = await startRedisServer();
  redis = new Redis(server.url());
  store = new RedisSeenStore(redis, DAYS * 86_400_000);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

describeSeenStore('RedisSeenStore', () => Promise.resolve(store));

describe('RedisSeenStore', () => {
  beforeEach(() => redis.flushall());

  const bucket = async (age: number): Promise<string> => {
    const [seconds] = await redis.time();
    return `{relay:0}:seen:${Math.floor(Number(seconds) / 86_400) - age}:ab12`;
  };
  const markDaysAgo = async (age: number): Promise<string> => {
    const key = await bucket(age);
    await redis.hset(key, idBytes(id), Buffer.concat([Buffer.from('s'), hashBytes(hash)]));
    return key;
  };

  it.each([
    ['today', 0, true],
    ['on the first day of the window', DAYS, true],
    ['before the window', DAYS + 1, false],
    ['tomorrow, since the clock was set back', -1, true],
    ['later still', -2, false],
  ])('looks for what was seen %s', async (_, age, isFound) => {
    await markDaysAgo(age);
    expect(await store.find([id])).toEqual([isFound ? { state: 'settled', hash } : undefined]);
  });

  it.each([0, 1, DAYS, -1])('leaves a greater mark of %d days ago as it is, and hides it by none', async (age) => {
    const key = await markDaysAgo(age);
    await store.markPublished([{ id, hash }]);
    expect(await redis.keys('*')).toEqual([key]);
    expect(await store.find([id])).toEqual([{ state: 'settled', hash }]);
  });

  it('keeps a bucket for the window and two days more, counted from its first mark', async () => {
    await store.markPublished([{ id, hash }]);
    const key = await bucket(0);
    expect(await redis.ttl(key)).toBeGreaterThan((DAYS + 2) * 86_400 - 60);
    await redis.expire(key, 1_000);
    await store.markPublished([{ id: id.replace(/1$/, '2'), hash }]);
    expect(await redis.ttl(key)).toBeLessThanOrEqual(1_000);
    expect(await redis.hlen(key)).toBe(2);
  });
});
