import { startRedisServer, type RedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import { RedisRevocationStore, RevokedTokens } from './index.js';

const TTL_MS = 3_600_000;
let server: RedisServer;
let redis: Redis;
beforeAll(async () => {
  server = await startRedisServer();
  redis = new Redis(server.url());
});
beforeEach(() => redis.flushall());
afterAll(async () => {
  redis?.disconnect();
  await server?.stop();
});

const aProcess = (now: () => number = Date.now): RevokedTokens =>
  new RevokedTokens(new RedisRevocationStore(redis, TTL_MS, now), now);
const inAnHour = (): number => Date.now() / 1_000 + 3_600;

describe('a revoked token', () => {
  it('is known at once where it was revoked, and elsewhere after a refresh', async () => {
    const [here, there] = [aProcess(), aProcess()];
    await there.refresh();
    await here.revoke({ jti: 'a', endsAtS: inAnHour() });
    expect([here.has('a'), there.has('a'), here.has('b')]).toEqual([true, false, false]);
    await there.refresh();
    expect(there.has('a')).toBe(true);
  });

  it('is known to a process that starts later, however many there are', async () => {
    const here = aProcess();
    const ids = Array.from({ length: 2_500 }, (_, index) => `jti-${index}`);
    await Promise.all(ids.map((jti) => here.revoke({ jti, endsAtS: inAnHour() })));
    const late = aProcess();
    await late.refresh();
    expect(ids.filter((jti) => !late.has(jti))).toEqual([]);
  });

  it('is forgotten only when its tolerance is over as well', async () => {
    let now = Date.now();
    const here = aProcess(() => now);
    await here.revoke({ jti: 'a', endsAtS: now / 1_000 + 10 });
    now += 69_000;
    await here.refresh();
    expect(here.has('a')).toBe(true);
    now += 2_000;
    const fresh = aProcess(() => now);
    await Promise.all([here.refresh(), fresh.refresh()]);
    expect([here.has('a'), fresh.has('a')]).toEqual([false, false]);
  });

  it('leaves the log when no token can be as old', async () => {
    await Promise.all(
      Array.from({ length: 500 }, (_, i) => redis.xadd('{relay:0}:tokens:revoked', `${i + 1}-0`, 'a', 'b')),
    );
    await aProcess().revoke({ jti: 'a', endsAtS: inAnHour() });
    // Trimmed by whole nodes of the stream, so a few stay.
    expect(await redis.xlen('{relay:0}:tokens:revoked')).toBeLessThan(200);
  });
});

describe('with Redis away', () => {
  it('rejects what it cannot tell others, and keeps what it knows', async () => {
    const own = await startRedisServer();
    const client = new Redis(own.url(), {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: () => null,
    });
    client.on('error', () => undefined);
    await new Promise((resolve) => void client.once('ready', resolve));
    const here = new RevokedTokens(new RedisRevocationStore(client, TTL_MS, Date.now), Date.now);
    await here.revoke({ jti: 'a', endsAtS: inAnHour() });
    await own.stop();
    await expect(here.revoke({ jti: 'b', endsAtS: inAnHour() })).rejects.toThrow();
    await expect(here.refresh()).rejects.toThrow();
    expect([here.has('a'), here.has('b')]).toEqual([true, false]);
    client.disconnect();
  });
});
