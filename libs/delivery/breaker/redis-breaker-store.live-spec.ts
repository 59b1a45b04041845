import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startRedisServer, type RedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import { CLOSED, counted, probing, type Breaker } from './breaker.js';
import { RedisBreakerStore } from './redis-breaker-store.adapter.js';

const NOW = Date.now();
const failure = (breaker: Breaker): Breaker => counted(breaker, { succeeded: 0, failed: 1, row: 1 }, NOW);

describe('RedisBreakerStore', () => {
  let server: RedisServer;
  let clients: Redis[];
  let stores: RedisBreakerStore[];
  /** The same change by 20, over four connections. */
  const byMany = (now: number, change: (breaker: Breaker) => Breaker | undefined) =>
    Promise.all(Array.from({ length: 5 }, () => stores.map((store) => store.change('p a', now, change))).flat());
  beforeAll(async () => {
    server = await startRedisServer();
    clients = Array.from({ length: 4 }, () => new Redis(server.url()));
    stores = clients.map((client) => new RedisBreakerStore(client));
  });
  afterAll(async () => {
    for (const client of clients) client.disconnect();
    await server.stop();
  });

  it('counts every failure of concurrent reports, and opens once', async () => {
    await byMany(NOW, failure);
    const breaker = (await stores[0]?.all())?.get('p a');
    expect(breaker).toMatchObject({ opened: 1, openUntil: NOW + 30_000 });
  });

  it('grants the probe to one of many workers', async () => {
    const later = NOW + 30_000;
    const claims = await byMany(later, (breaker) => probing(breaker, later, 20_000));
    expect(claims.filter((claim) => claim.isChanged)).toHaveLength(1);
  });

  it('keeps no breaker of a healthy endpoint', async () => {
    await stores[0]?.change('p b', NOW, failure);
    await stores[1]?.change('p b', NOW, () => CLOSED);
    expect([...((await stores[2]?.all()) ?? new Map()).keys()]).toEqual(['p a']);
  });

  it('ends the rest that a wrong clock wrote', async () => {
    await stores[0]?.change('p d', NOW, (breaker) => ({ ...failure(breaker), heldUntil: NOW + 400_000_000 }));
    expect((await stores[1]?.all())?.get('p d')?.heldUntil).toBeLessThan(NOW + 60_000);
    expect((await stores[1]?.change('p d', NOW, failure))?.breaker).toMatchObject({ heldUntil: NOW });
    await stores[0]?.change('p d', NOW, () => CLOSED);
  });

  it('treats an unreadable breaker as closed', async () => {
    await clients[0]?.hset('{relay:0}:breakers', 'p c', '{"of":"a newer version"}');
    expect((await stores[0]?.change('p c', NOW, failure))?.breaker).toMatchObject({ row: 1 });
  });
});
