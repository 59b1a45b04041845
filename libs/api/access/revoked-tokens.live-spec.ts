import { redisOfSpec, startRedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import { RedisRevocationStore, RevokedTokens } from './index.js';
import { Revocations } from './revoked-tokens.adapter.js';

const TTL_MS = 3_600_000;
const LOG = '{relay:0}:tokens:revoked';
const { redis } = await redisOfSpec();
beforeEach(() => redis.flushall());

const aProcess = (now: () => number = Date.now): RevokedTokens =>
  new RevokedTokens(new RedisRevocationStore(redis, TTL_MS, now), now);
const aToken = (jti: string, clientId = 'c', issuedAtS = Math.floor(Date.now() / 1_000)) => ({
  clientId,
  jti,
  issuedAtS,
  endsAtS: issuedAtS + TTL_MS / 1_000,
});

describe('a revoked token', () => {
  it('is known at once where it was revoked, and elsewhere after a refresh', async () => {
    const [here, there] = [aProcess(), aProcess()];
    await there.refresh();
    const [ended, other] = [aToken('a'), aToken('b')];
    await here.revoke(ended);
    expect([here.has(ended), there.has(ended), here.has(other)]).toEqual([true, false, false]);
    await there.refresh();
    expect([there.has(ended), there.has(other)]).toEqual([true, false]);
  });

  it('is known to a process that starts later, however many there are', async () => {
    const here = aProcess();
    const tokens = Array.from({ length: 2_500 }, (_, index) => aToken(`jti-${index}`, `c-${index % 5}`));
    await Promise.all(tokens.map((token) => here.revoke(token)));
    const late = aProcess();
    await late.refresh();
    expect(tokens.filter((token) => !late.has(token))).toEqual([]);
  });

  it('is forgotten only when its tolerance is over as well', async () => {
    let now = Date.now();
    const here = aProcess(() => now);
    const ended = { ...aToken('a'), endsAtS: Math.floor(now / 1_000) + 10 };
    await here.revoke(ended);
    now += 69_000;
    await here.refresh();
    expect(here.has(ended)).toBe(true);
    now += 2_000;
    const fresh = aProcess(() => now);
    await Promise.all([here.refresh(), fresh.refresh()]);
    expect([here.has(ended), fresh.has(ended)]).toEqual([false, false]);
  });

  it('leaves the log when no token can be as old', async () => {
    await Promise.all(Array.from({ length: 500 }, (_, i) => redis.xadd(LOG, `${i + 1}-0`, 'a', 'b')));
    await aProcess().revoke(aToken('a'));
    // Trimmed by whole nodes of the stream, so a few stay.
    expect(await redis.xlen(LOG)).toBeLessThan(200);
    expect(await redis.pttl(LOG)).toBeGreaterThan(TTL_MS - 60_000);
  });
});

describe('a client that revokes without end', () => {
  const PAIRS = 10_000;

  it('leaves a bounded log and memory, here and in other processes, and all it revoked stays ended', async () => {
    // Two processes that it asks at once, and one that only reads.
    const memories = [new Revocations(1_000), new Revocations(1_000), new Revocations(1_000)];
    const processes = memories.map((known) => {
      const store = new RedisRevocationStore(redis, TTL_MS, Date.now);
      return new RevokedTokens(store, Date.now, known);
    });
    const startS = Math.floor(Date.now() / 1_000);
    const tokens = Array.from({ length: PAIRS }, (_, index) =>
      aToken(`jti-${index}`, 'c', startS + Math.floor(index / 783)),
    );
    const most = { log: 0, memory: 0 };
    for (let index = 0; index < PAIRS; index += 50) {
      const batch = tokens.slice(index, index + 50);
      await Promise.all(batch.map(async (token, place) => processes[place % 2]?.revoke(token)));
      await Promise.all(processes.map((process) => process.refresh()));
      most.log = Math.max(most.log, await redis.xlen(LOG));
      most.memory = Math.max(most.memory, ...memories.map(({ size }) => size));
    }
    expect([most.log, most.memory].every((size) => size > 900)).toBe(true);
    // What the two wrote at the same time they did not know of each other.
    expect(Math.max(most.log, most.memory)).toBeLessThanOrEqual(1_500);
    const late = aProcess();
    await late.refresh();
    for (const process of [...processes, late]) expect(tokens.filter((token) => !process.has(token))).toEqual([]);
    const next = aToken('next', 'c', (tokens.at(-1)?.issuedAtS ?? 0) + 1);
    expect([late.has(next), late.has({ ...next, clientId: 'd', issuedAtS: startS })]).toEqual([false, false]);
  });
});

describe('with Redis away', () => {
  it('rejects a revocation that it cannot store, and keeps the known ones', async () => {
    const own = await startRedisServer();
    const client = new Redis(own.url(), {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: () => null,
    });
    client.on('error', () => undefined);
    await new Promise((resolve) => void client.once('ready', resolve));
    const here = new RevokedTokens(new RedisRevocationStore(client, TTL_MS, Date.now), Date.now);
    await here.revoke(aToken('a'));
    await own.stop();
    await expect(here.revoke(aToken('b'))).rejects.toThrow();
    await expect(here.refresh()).rejects.toThrow();
    expect([here.has(aToken('a')), here.has(aToken('b'))]).toEqual([true, false]);
    client.disconnect();
  });
});
