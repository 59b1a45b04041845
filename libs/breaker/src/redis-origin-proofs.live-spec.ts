import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startRedisServer, type RedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import type { Turn } from './origin-proofs.port.js';
import { RedisOriginProofs } from './redis-origin-proofs.adapter.js';

let origins = 0;

describe('RedisOriginProofs', () => {
  let server: RedisServer;
  let clients: Redis[];
  let stores: RedisOriginProofs[];
  const store = (index = 0): RedisOriginProofs => stores[index] ?? (stores[0] as RedisOriginProofs);
  const anOrigin = (): string => `https://${(origins += 1)}.example`;
  const turn = (origin: string, by: string, token = by, leaseMs = 20_000): Promise<Turn> =>
    store(origins % 4).turn({ origin, endpoint: `${by} ${origin}`, token, leaseMs });
  const waitMs = (refused: Turn): number => (refused.kind === 'refused' ? refused.waitMs : Number.NaN);

  beforeAll(async () => {
    server = await startRedisServer();
    clients = Array.from({ length: 4 }, () => new Redis(server.url()));
    stores = clients.map((client) => new RedisOriginProofs(client));
  });
  afterAll(async () => {
    for (const client of clients) client.disconnect();
    await server.stop();
  });

  it('grants a turn to one of many concurrent requests, over all connections', async () => {
    const origin = anOrigin();
    const turns = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        store(n % 4).turn({ origin, endpoint: `p${n} ${origin}`, token: `${n}`, leaseMs: 20_000 }),
      ),
    );
    expect(turns.filter(({ kind }) => kind === 'granted')).toHaveLength(1);
    // The others are promised turns, a second apart each.
    const waits = turns
      .map(waitMs)
      .filter(Number.isFinite)
      .toSorted((a, b) => a - b);
    expect(waits).toHaveLength(39);
    expect((waits.at(-1) ?? 0) - (waits[0] ?? 0)).toBeGreaterThan(37_000);
    for (const [n, wait] of waits.entries()) expect(wait).toBeLessThanOrEqual(1_100 + n * 1_000);
  });

  it('grants the next turn a second after the begin of the last one, and not while that runs', async () => {
    const origin = anOrigin();
    expect(await turn(origin, 'a')).toEqual({ kind: 'granted' });
    const beganAt = performance.now();
    const refused = await turn(origin, 'a', 'again');
    expect(refused).toMatchObject({ kind: 'refused', rivals: 1 });
    await delay(1_200);
    expect(await turn(origin, 'a', 'still runs')).toMatchObject({ kind: 'refused' });
    await store().giveBack(origin, 'not the token', true);
    expect(await turn(origin, 'a', 'still runs')).toMatchObject({ kind: 'refused' });
    await store().giveBack(origin, 'a', true);
    expect(performance.now() - beganAt).toBeGreaterThan(1_000);
    expect(await turn(origin, 'a', 'next')).toEqual({ kind: 'granted' });
    await store().giveBack(origin, 'next', true);
    const wait = waitMs(await turn(origin, 'a', 'too early'));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(1_000);
    await delay(wait + 5);
    expect(await turn(origin, 'a', 'in time')).toEqual({ kind: 'granted' });
  });

  it('does not count an unused turn', async () => {
    const origin = anOrigin();
    expect(await turn(origin, 'a')).toEqual({ kind: 'granted' });
    await store().giveBack(origin, 'a', false);
    expect(await turn(origin, 'b')).toEqual({ kind: 'granted' });
  });

  it('ends the turn of a dead worker with its lease', async () => {
    const origin = anOrigin();
    expect(await turn(origin, 'a', 'dead', 300)).toEqual({ kind: 'granted' });
    await delay(350);
    expect(await turn(origin, 'a', 'alive')).toEqual({ kind: 'granted' });
    await store().giveBack(origin, 'dead', true); // comes late and ends nothing
    expect(await turn(origin, 'a', 'third')).toMatchObject({ kind: 'refused' });
  });

  it('keeps a reserved turn from frequent requests of others, and releases it when it lapses', async () => {
    const origin = anOrigin();
    expect(await turn(origin, 'flood')).toEqual({ kind: 'granted' });
    await store().giveBack(origin, 'flood', true);
    const wait = waitMs(await turn(origin, 'quiet'));
    await delay(wait + 5);
    expect(await turn(origin, 'flood', 'more')).toMatchObject({ kind: 'refused', rivals: 2 });
    expect(await turn(origin, 'quiet')).toEqual({ kind: 'granted' });
    await store().giveBack(origin, 'quiet', true);

    await turn(origin, 'gone'); // is promised one behind the flood, and does not come
    await delay(4_500);
    expect(await turn(origin, 'flood', 'again')).toEqual({ kind: 'granted' });
  });

  it('needs no turns for a proven origin, and keeps no other key of it', async () => {
    const origin = anOrigin();
    await turn(origin, 'a');
    await turn(origin, 'b');
    await store().prove(origin);
    expect(await turn(origin, 'a')).toMatchObject({ kind: 'proven', at: expect.any(Number) });
    expect([...(await store().proven([origin, 'https://other.example'])).keys()]).toEqual([origin]);
    expect((await clients[0]?.keys('{relay:0}:unproven:*'))?.length).toBeLessThanOrEqual(2 * origins);
  });

  it('forgets a 2xx after thirty days', async () => {
    const origin = anOrigin();
    await store().prove(origin);
    const [member = ''] = (await clients[0]?.zrevrange('{relay:0}:proven', 0, 0)) ?? [];
    await clients[0]?.zadd('{relay:0}:proven', Date.now() - 30 * 86_400_000 - 1, member);
    expect(await turn(origin, 'a')).toEqual({ kind: 'granted' });
    expect(await store().proven([origin])).toEqual(new Map());
  });

  it('keeps a bounded number of proven origins: those that answered last', async () => {
    const [client] = clients;
    if (client === undefined) throw new Error('no client');
    await client.del('{relay:0}:proven');
    const few = new RedisOriginProofs(client, 10);
    const all = Array.from({ length: 25 }, anOrigin);
    for (const origin of all) {
      await few.prove(origin);
      await delay(2);
    }
    expect([...(await few.proven(all)).keys()]).toEqual(all.slice(-10));
  });

  it('expires the keys of an origin that is never proven', async () => {
    const origin = anOrigin();
    await turn(origin, 'a', 'a', 500);
    await turn(origin, 'b');
    const [client] = clients;
    if (client === undefined) throw new Error('no client');
    for (const key of await client.keys('{relay:0}:unproven:*')) expect(await client.pttl(key)).toBeGreaterThan(0);
  });
});
