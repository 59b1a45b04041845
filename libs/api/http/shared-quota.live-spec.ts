import { connectRedis, redisReady } from '@relay/redis';
import { startRedisServer, type RedisServer } from '@relay/testing';
import type { Redis } from 'ioredis';
import { SharedQuota } from './quotas.adapter.js';

let server: RedisServer;
let redis: Redis;
beforeAll(async () => {
  server = await startRedisServer();
  redis = connectRedis({ REDIS_URL: server.url(), REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '' }, 'command', () => {});
  await redisReady(redis, () => {});
});
afterAll(async () => {
  redis?.disconnect();
  await server?.stop();
});

const quota = { name: 'things', points: 3, windowMs: 60_000 };

describe('SharedQuota', () => {
  it('counts over all processes, by key and in points', async () => {
    const [one, other] = [new SharedQuota(redis, quota), new SharedQuota(redis, quota)];
    expect(await one.consume('a', 2)).toMatchObject({ isSpent: false, remaining: 1 });
    expect(await other.consume('a')).toMatchObject({ isSpent: false, remaining: 0 });
    const { isSpent, resetS } = await one.consume('a');
    expect([isSpent, resetS > 50]).toEqual([true, true]);
    expect(await one.consume('b')).toMatchObject({ isSpent: false, remaining: 2 });
  });

  it('leaves one key in Redis that expires by itself', async () => {
    await new SharedQuota(redis, { ...quota, name: 'expiring' }).consume('a');
    const [name = '', ...others] = await redis.keys('*expiring*');
    expect([others.length, await redis.pttl(name)]).toEqual([0, expect.any(Number)]);
    expect(await redis.pttl(name)).toBeGreaterThan(50_000);
  });

  it('counts by itself while Redis is away', async () => {
    await server.stop();
    const alone = new SharedQuota(redis, { ...quota, name: 'away' });
    const used = [await alone.consume('a', 3), await alone.consume('a')];
    expect(used.map(({ isSpent }) => isSpent)).toEqual([false, true]);
  });
});
