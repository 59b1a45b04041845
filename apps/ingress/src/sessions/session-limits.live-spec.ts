import { randomUUID } from 'node:crypto';
import { AccessTokens } from '@relay/access';
import { startRedisServer, type RedisServer } from '@relay/testing';
import { z } from 'zod';
import { aConfig, startSpecApp, type SpecApp } from '../http/spec-app.js';
import { SessionsModule } from './sessions.module.js';

// Two replicas over one Redis, with the same keys.
let redis: RedisServer;
let replicas: SpecApp[];
beforeAll(async () => {
  redis = await startRedisServer();
  const limits = { SESSIONS_PER_PARTNER: '30', SESSION_RATE_LIMIT: '60' };
  const config = aConfig(redis.url(), limits);
  replicas = await Promise.all([0, 1].map(() => startSpecApp([SessionsModule], config)));
});
afterAll(async () => {
  await Promise.all((replicas ?? []).map(({ app }) => app.close()));
  await redis?.stop();
});

interface Partner {
  open(user: string, turn: number): Promise<Response>;
  ask(method: string, sessionId: string): Promise<number>;
}
const aPartner = async (): Promise<Partner> => {
  const [first, second = first] = replicas;
  if (first === undefined || second === undefined) throw new Error('unreachable');
  const { clientId } = await first.clients.createPartner('p');
  const token = await first.app.get(AccessTokens).issue(clientId, ['sessions']);
  const headers = { authorization: `Bearer ${token}` };
  return {
    open: (user, turn) =>
      fetch(`${turn % 2 === 0 ? first.url : second.url}/auth/${user}/session`, { method: 'POST', headers }),
    ask: async (method, sessionId) =>
      (await fetch(`${second.url}/auth/session/${sessionId}`, { method, headers })).status,
  };
};
const idOf = async (response: Response): Promise<string> =>
  z.object({ sessionId: z.string() }).parse(await response.json()).sessionId;
const upTo = (length: number): number[] => Array.from({ length }, (_, index) => index);

describe('a partner that opens sessions without end', () => {
  it('has no more than it may at all replicas together, is told when there is room, and keeps what it has', async () => {
    const [partner, other] = [await aPartner(), await aPartner()];
    const answers = await Promise.all(upTo(40).map((turn) => partner.open(randomUUID(), turn)));
    const [opened, refused] = [201, 429].map((status) => answers.filter((answer) => answer.status === status));
    expect([opened?.length, refused?.length]).toEqual([30, 10]);
    for (const answer of refused ?? []) {
      const waitS = Number(answer.headers.get('retry-after'));
      expect([waitS > 3_000, waitS <= 3_713]).toEqual([true, true]);
      expect(await answer.json()).toMatchObject({ detail: 'You have reached your session limit: end one, or wait.' });
    }
    expect((await other.open(randomUUID(), 0)).status).toBe(201);
    const ids = await Promise.all((opened ?? []).map(idOf));
    expect(await Promise.all(ids.map((id) => partner.ask('GET', id)))).toEqual(ids.map(() => 200));
    expect(await partner.ask('DELETE', ids[0] ?? '')).toBe(204);
    expect((await partner.open(randomUUID(), 1)).status).toBe(201);
  });

  it('for one user has as many as one user may: the oldest ends', async () => {
    const [partner, user] = [await aPartner(), randomUUID()];
    const ids: string[] = [];
    for (const turn of upTo(12)) ids.push(await idOf(await partner.open(user, turn)));
    const answers = await Promise.all(ids.map((id) => partner.ask('GET', id)));
    expect(answers.filter((status) => status === 200)).toHaveLength(10);
    expect(answers.at(-1)).toBe(200);
  });

  it('opens no more a minute than it may at all replicas together, and is told of this quota too', async () => {
    const [partner, user] = [await aPartner(), randomUUID()];
    const answers: Response[] = [];
    for (const turn of upTo(62)) answers.push(await partner.open(user, turn));
    expect(answers.map(({ status }) => status)).toEqual(upTo(62).map((turn) => (turn < 60 ? 201 : 429)));
    expect(answers[0]?.headers.get('ratelimit-policy')).toBe('"sessions";q=60;w=60, "partner";q=60000;w=60');
    expect(Number(answers[61]?.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});
