import { setTimeout as delay } from 'node:timers/promises';
import { redisOfSpec } from '@relay/testing';
import { RedisOriginProofs } from './redis-breaker-store.adapter.js';

const PROVEN = '{relay:0}:proven';
const { redis } = await redisOfSpec();
let origins = 0;
const anOrigin = (): string => `https://${(origins += 1)}.example`;

describe('RedisOriginProofs', () => {
  const store = new RedisOriginProofs(redis);

  it('knows an origin that has answered 2xx, and when, and keeps one key for all', async () => {
    const origin = anOrigin();
    await store.prove(origin);
    const proven = await store.proven([origin, 'https://other.example']);
    expect([...proven.keys()]).toEqual([origin]);
    expect(Math.abs((proven.get(origin) ?? 0) - Date.now())).toBeLessThan(60_000);
    expect(await store.proven([])).toEqual(new Map());
    expect(await redis.keys('*')).toEqual([PROVEN]);
  });

  it('forgets a 2xx after thirty days', async () => {
    const origin = anOrigin();
    await store.prove(origin);
    const [member = ''] = await redis.zrevrange(PROVEN, 0, 0);
    await redis.zadd(PROVEN, Date.now() - 30 * 86_400_000 - 1, member);
    expect(await store.proven([origin])).toEqual(new Map());
  });

  it('keeps a bounded number of proven origins: those that answered last', async () => {
    await redis.del(PROVEN);
    const few = new RedisOriginProofs(redis, 10);
    const all = Array.from({ length: 25 }, anOrigin);
    for (const origin of all) {
      await few.prove(origin);
      await delay(2);
    }
    expect([...(await few.proven(all)).keys()]).toEqual(all.slice(-10));
  });
});
