import { connectRedis, redisReady } from '@relay/redis';
import { startRedisServer, type RedisServer } from '@relay/testing';
import type { Redis } from 'ioredis';
import { FailureLimiter, NetworkFailures } from './index.js';

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

describe('FailureLimiter', () => {
  const limit = { points: 3, windowMs: 60_000 };
  const failing = async (limiter: FailureLimiter, key: string, times: number): Promise<(number | undefined)[]> => {
    const waits: (number | undefined)[] = [];
    for (let i = 0; i < times; i += 1) waits.push(await limiter.fail(key));
    return waits;
  };

  it('counts over all processes, by key', async () => {
    const [one, other] = [1, 2].map(() => new FailureLimiter(redis, { ...limit, name: 'spec' }));
    if (one === undefined || other === undefined) throw new Error('unreachable');
    expect(await failing(one, 'a', 2)).toEqual([undefined, undefined]);
    expect(await one.blockedFor('a')).toBeUndefined();
    expect(await failing(other, 'a', 2)).toEqual([undefined, expect.any(Number)]);
    expect(await one.blockedFor('a')).toBeGreaterThan(50);
    expect(await one.blockedFor('b')).toBeUndefined();
    expect(await one.fail('b')).toBeUndefined();
  });

  it('writes no key into Redis as it came: it may be a secret sent as a client id', async () => {
    await new FailureLimiter(redis, { ...limit, name: 'confused' }).fail('relay_sk_confused');
    const names = await redis.keys('*confused*');
    expect([names.length, names.join().includes('relay_sk_')]).toEqual([1, false]);
  });

  it('lets a key recover when its window is over', async () => {
    const limiter = new FailureLimiter(redis, { name: 'short', points: 1, windowMs: 1_000 });
    expect(await failing(limiter, 'a', 2)).toEqual([undefined, 1]);
    const end = Date.now() + 5_000;
    // Asked by failing, which is refused from memory a moment longer than Redis counts.
    let blocked: number | undefined = 1;
    while (blocked !== undefined && Date.now() < end) {
      await new Promise(setImmediate);
      blocked = await limiter.fail('a');
    }
    expect(blocked).toBeUndefined();
  });

  it('asks Redis no more about a network that it knows to be over its limit', async () => {
    const failures = new NetworkFailures(redis, { ...limit, name: 'flood', everywhere: 4 });
    const asked = async (): Promise<number> =>
      Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))?.[1]);
    for (const address of ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2']) await failures.fail(address);
    for (const address of ['192.0.2.1', '192.0.2.3', '2001:db8::1']) {
      expect((await failures.blockedFor(address))?.waitS).toBeGreaterThan(50);
      const before = await asked();
      for (let n = 0; n < 100; n += 1) expect((await failures.blockedFor(address))?.waitS).toBeGreaterThan(50);
      expect((await asked()) - before).toBeLessThan(5);
    }
  });

  it('counts by itself while Redis is away', async () => {
    await server.stop();
    const limiter = new FailureLimiter(redis, { ...limit, name: 'away' });
    expect(await failing(limiter, 'a', 4)).toEqual([undefined, undefined, undefined, expect.any(Number)]);
    expect(await limiter.blockedFor('a')).toBeGreaterThan(50);
    expect(await limiter.fail('b')).toBeUndefined();
  });
});
