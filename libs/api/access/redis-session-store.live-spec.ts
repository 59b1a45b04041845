import { randomBytes, randomUUID } from 'node:crypto';
import { redisOfSpec } from '@relay/testing';
import { SessionStore } from './index.js';
import type { SessionLimits } from './redis-session-store.adapter.js';

const TTL_MS = 3_600_000;
const LIMITS = { ofPartner: 20, ofUser: 3 };
const { redis } = await redisOfSpec();
let now: number;
beforeEach(async () => {
  now = Date.now();
  await redis.flushall();
});

const aProcess = (limits: SessionLimits = LIMITS): SessionStore =>
  new SessionStore(redis, limits, randomBytes, () => now);
const opened = async (store: SessionStore, user: string, partner = 'p', ttlMs = TTL_MS): Promise<string> => {
  const opening = await store.open(partner, user, ttlMs);
  if (opening.kind !== 'opened') throw new Error('It is full');
  return opening.sessionId;
};
const kindOf = async (store: SessionStore, user = randomUUID(), partner = 'p'): Promise<string> =>
  (await store.open(partner, user, TTL_MS)).kind;
const counted = async (partner = 'p'): Promise<number> =>
  (await redis.hvals(`{relay:0}:sessions:${partner}`)).reduce((sum, count) => sum + Number(count), 0);

describe('sessions of a partner', () => {
  it('are as many as it may have, however many are asked for at once of two processes', async () => {
    const stores = [aProcess(), aProcess()];
    const kinds = await Promise.all(Array.from({ length: 60 }, (_, index) => kindOf(stores[index % 2] ?? aProcess())));
    expect(kinds.filter((kind) => kind === 'opened')).toHaveLength(LIMITS.ofPartner);
    expect(await counted()).toBe(LIMITS.ofPartner);
    expect(await kindOf(aProcess(), randomUUID(), 'q')).toBe('opened');
  });

  it('make room when one is ended, and when they expire, no later than announced', async () => {
    const store = aProcess();
    const user = randomUUID();
    const first = await opened(store, user);
    now += TTL_MS / 2;
    while ((await kindOf(store)) === 'opened');
    expect(await store.end('p', first)).toBe(true);
    expect([await kindOf(store, user), await kindOf(store)]).toEqual(['opened', 'full']);
    const full = await store.open('p', user, TTL_MS);
    const waitS = full.kind === 'full' ? full.waitS : 0;
    expect([waitS > 0, waitS <= (TTL_MS / 1_000) * (1 + 1 / 32)]).toEqual([true, true]);
    now += waitS * 1_000;
    expect(await kindOf(store)).toBe('opened');
  });

  it('are counted right after any of them were opened, ended twice, pushed out or had ended by themselves', async () => {
    const store = aProcess({ ofPartner: 1_000, ofUser: 3 });
    const users = Array.from({ length: 5 }, () => randomUUID());
    const known: string[] = [];
    for (let step = 0; step < 300; step += 1) {
      now += (TTL_MS / 50) * (step % 3);
      known.push(await opened(store, users[step % 5] ?? ''));
      const older = known.at(-(1 + ((step * 7) % 12))) ?? '';
      if (step % 4 === 0) await Promise.all([store.end('p', older), store.end('p', older)]);
    }
    const live = async (): Promise<number> =>
      (await Promise.all(known.map((id) => store.find('p', id)))).filter((session) => session !== undefined).length;
    // The next opening takes out of the count what has ended; it may still count a thirty-second of a life more.
    known.push(await opened(store, users[0] ?? ''));
    expect(await counted()).toBeGreaterThanOrEqual(await live());
    expect(await counted()).toBeLessThanOrEqual((await live()) + 3);
    expect((await redis.hlen('{relay:0}:sessions:p')) <= 34).toBe(true);
  });
});

describe('sessions of a user', () => {
  it('are limited: a further one ends the one that expires first, even if the partner is full', async () => {
    const store = aProcess({ ofPartner: 3, ofUser: 3 });
    const user = randomUUID();
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      ids.push(await opened(store, user));
      now += 1;
    }
    const live = await Promise.all(ids.map(async (id) => (await store.find('p', id)) !== undefined));
    expect(live).toEqual([false, false, true, true, true]);
    expect([await counted(), await kindOf(store)]).toEqual([3, 'full']);
  });

  it('are its own: the same user of another partner has others, and neither is found by the other', async () => {
    const [store, user] = [aProcess(), randomUUID()];
    const [mine, theirs] = [await opened(store, user), await opened(store, user, 'q')];
    const found = { userId: user, expiresAt: now + TTL_MS };
    expect(await store.find('p', mine)).toEqual({ clientId: 'p', ...found });
    expect(await store.find('q', theirs)).toEqual({ clientId: 'q', ...found });
    expect([await store.find('p', theirs), await store.find('q', mine)]).toEqual([undefined, undefined]);
    expect([await store.end('q', mine), await store.end('p', mine)]).toEqual([false, true]);
  });

  it('end at their time, by whichever lives longer', async () => {
    const [store, user] = [aProcess(), randomUUID()];
    const [long, short] = [await opened(store, user), await opened(store, user, 'p', TTL_MS / 2)];
    now += TTL_MS / 2;
    expect([(await store.find('p', long))?.userId, await store.find('p', short)]).toEqual([user, undefined]);
    expect(await store.end('p', short)).toBe(false);
    for (const key of await redis.keys('*')) expect(await redis.pttl(key)).toBeGreaterThan(TTL_MS - 60_000);
  });
});

describe('the keys of sessions in Redis', () => {
  it('is nothing once they are ended, and no id while they live', async () => {
    const store = aProcess();
    const ids = await Promise.all(Array.from({ length: 9 }, (_, index) => opened(store, `user-${index % 4}`)));
    const keys = await redis.keys('*');
    const stored = JSON.stringify([keys, await Promise.all(keys.map((key) => redis.hgetall(key)))]);
    for (const id of ids) expect([stored.includes(id), stored.includes(id.slice(22))]).toEqual([false, false]);
    await Promise.all(ids.map((id) => store.end('p', id)));
    expect(await redis.keys('*')).toEqual([]);
  });

  it('is gone once they have ended by themselves', async () => {
    const store = aProcess();
    await Promise.all(Array.from({ length: 9 }, (_, index) => opened(store, `user-${index % 4}`, 'p', 300)));
    expect(await redis.dbsize()).toBe(5);
    const end = Date.now() + 10_000;
    while ((await redis.dbsize()) > 0 && Date.now() < end) await new Promise((resolve) => void setTimeout(resolve, 20));
    expect(await redis.keys('*')).toEqual([]);
  });

  it('is less than half a kilobyte for a user with one', async () => {
    const store = aProcess({ ofPartner: 100_000, ofUser: 10 });
    const used = async (): Promise<number> =>
      Number(/used_memory_dataset:(\d+)/.exec(await redis.info('memory'))?.[1] ?? 0);
    const partner = `partner_${randomBytes(16).toString('base64url')}`;
    const users = Array.from({ length: 10_000 }, () => randomUUID());
    const before = await used();
    for (let index = 0; index < users.length; index += 500)
      await Promise.all(users.slice(index, index + 500).map((user) => opened(store, user, partner)));
    const one = (await used()) - before;
    for (let index = 0; index < users.length; index += 500)
      await Promise.all(users.slice(index, index + 500).map((user) => opened(store, user, partner)));
    const other = (await used()) - before - one;
    expect([one / users.length < 512, other / users.length < 256]).toEqual([true, true]);
  });
});
