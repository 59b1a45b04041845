import { AccessTokens, SessionStore } from '@relay/access';
import { startRedisServer, type RedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { aConfig, startSpecApp, type SpecApp } from '../http/spec-app.js';
import { SessionsModule } from './sessions.module.js';

const USER = '0F0E0D0C-0b0a-4908-8706-050403020100';
const Answer = z.strictObject({ sessionId: z.string().regex(/^[\w-]{43}$/) });

/** What does not differ from one request to the next. */
const Problem = z.object({ type: z.string(), title: z.string(), status: z.number(), detail: z.string() });

let redis: RedisServer;
let spec: SpecApp;
let clientId: string;
let token: string;
beforeAll(async () => {
  redis = await startRedisServer();
  spec = await startSpecApp([SessionsModule], aConfig(redis.url(), { SESSION_TTL: '90s' }));
  ({ clientId } = await spec.clients.createPartner('Acme'));
  token = await tokenOf(clientId, ['webhooks', 'sessions']);
});
afterAll(async () => {
  await spec?.app.close();
  await redis?.stop();
});

const tokenOf = (id: string, scopes: string[]): Promise<string> => spec.app.get(AccessTokens).issue(id, scopes);
const open = (headers: Record<string, string>, user = USER, body?: string): Promise<Response> =>
  fetch(`${spec.url}/auth/${user}/session`, { method: 'POST', headers, ...(body === undefined ? {} : { body }) });
const bearer = (): Record<string, string> => ({ authorization: `Bearer ${token}` });
const json = { 'content-type': 'application/json' };

describe('POST /auth/{userId}/session', () => {
  it("answers the specification's own request with a session of partner and user", async () => {
    const response = await open({ ...bearer(), ...json });
    expect(response.status).toBe(201);
    const { sessionId } = Answer.parse(await response.json());
    const session = await spec.app.get(SessionStore).find(clientId, sessionId);
    expect(session).toEqual({ clientId, userId: USER.toLowerCase(), expiresAt: expect.any(Number) });
    expect(Math.abs((session?.expiresAt ?? 0) - Date.now() - 90_000)).toBeLessThan(5_000);
  });

  it('stores no session id, and lets Redis end the session', async () => {
    const { sessionId } = Answer.parse(await (await open(bearer())).json());
    const keys = await spec.app.get(Redis).keys('{relay:0}:session:*');
    expect(keys.length).toBeGreaterThan(0);
    expect(keys.join(' ')).not.toContain(sessionId);
    for (const key of keys) expect(await spec.app.get(Redis).pttl(key)).toBeGreaterThan(80_000);
  });

  it.each([
    ['an empty object', '{}', 201],
    ['no JSON', '{', 400],
    ['an array', '[]', 400],
  ])('answers a body of %s', async (_name, body, status) => {
    expect((await open({ ...bearer(), ...json }, USER, body)).status).toBe(status);
  });

  it.each(['7', `${USER}0`, 'ff'.repeat(16)])('refuses the user %s', async (user) => {
    const response = await open(bearer(), user);
    expect([response.status, await response.json()]).toMatchObject([400, { title: 'Invalid request' }]);
  });
});

describe('/auth/session/{sessionId}', () => {
  const session = (method: string, id: string, given = token): Promise<Response> =>
    fetch(`${spec.url}/auth/session/${id}`, { method, headers: { authorization: `Bearer ${given}` } });
  const opened = async (): Promise<string> => Answer.parse(await (await open(bearer())).json()).sessionId;

  it('tells its owner the user and the end, and is gone once ended', async () => {
    const sessionId = await opened();
    const read = await session('GET', sessionId);
    const expiresAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect([read.status, await read.json()]).toEqual([200, { sessionId, userId: USER.toLowerCase(), expiresAt }]);
    const ended = await session('DELETE', sessionId);
    expect([ended.status, await ended.text()]).toEqual([204, '']);
    expect([(await session('GET', sessionId)).status, (await session('DELETE', sessionId)).status]).toEqual([404, 404]);
  });

  it("answers another partner what it answers to a session that never was, and leaves the owner's", async () => {
    const sessionId = await opened();
    const other = await spec.clients.createPartner('Other');
    const theirs = await tokenOf(other.clientId, ['sessions']);
    const absent = 'A'.repeat(43);
    for (const method of ['GET', 'DELETE']) {
      const answers = await Promise.all(
        [sessionId, absent, 'short'].map(async (id) => {
          const response = await session(method, id, theirs);
          return [response.status, Problem.parse(await response.json())];
        }),
      );
      expect(answers[0]).toMatchObject([404, { title: 'Not found' }]);
      expect(answers[1]).toEqual(answers[0]);
      expect(answers[2]).toEqual(answers[0]);
    }
    expect((await session('GET', sessionId)).status).toBe(200);
  });

  it('names the methods it takes', async () => {
    const response = await session('POST', 'A'.repeat(43));
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'DELETE, GET, HEAD']);
  });
});

describe('a bearer route', () => {
  it('asks for a token when none is sent', async () => {
    for (const headers of [{}, { authorization: 'Basic eDp5' }, { authorization: 'Bearer' }]) {
      const response = await open(headers);
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="relay"']);
    }
  });

  it.each([
    ['no JWT', () => Promise.resolve('abc')],
    ['changed', () => Promise.resolve(`${token.slice(0, -6)}AAAAAA`)],
    ["another relay's", () => otherToken()],
    ['of an unknown client', () => tokenOf('partner_gone', ['sessions'])],
    ['of a disabled client', () => disabledToken()],
  ])('tells a token that is %s', async (_name, given) => {
    const response = await open({ authorization: `Bearer ${await given()}` });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="relay", error="invalid_token"');
  });

  it.each([
    ['narrowed', () => tokenOf(clientId, ['webhooks'])],
    ['of a source', async () => tokenOf((await spec.clients.createSource('Core')).clientId, ['deliveries:write'])],
    [
      'claiming what its client does not have',
      async () => tokenOf((await spec.clients.createSource('Sly')).clientId, ['sessions']),
    ],
  ])('forbids a token %s', async (_name, given) => {
    const response = await open({ authorization: `Bearer ${await given()}` });
    expect([response.status, await response.json()]).toMatchObject([403, { title: 'Insufficient scope' }]);
    expect(response.headers.get('www-authenticate')).toBe(
      'Bearer realm="relay", error="insufficient_scope", scope="sessions"',
    );
  });

  it('compares the scheme in any letter case', async () => {
    expect((await open({ authorization: `bEARER ${token}` })).status).toBe(201);
  });
});

async function disabledToken(): Promise<string> {
  const partner = await spec.clients.createPartner('Ended');
  await spec.clients.disable(partner.clientId);
  return tokenOf(partner.clientId, ['sessions']);
}

async function otherToken(): Promise<string> {
  const other = await startSpecApp([], aConfig(redis.url()));
  try {
    return await other.app.get(AccessTokens).issue(clientId, ['sessions']);
  } finally {
    await other.app.close();
  }
}

describe('with Redis away', () => {
  it('answers 503 to a new session, and heals', async () => {
    await redis.stop();
    const response = await open(bearer());
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2']);
    expect(await response.json()).toMatchObject({ title: 'Temporarily unavailable' });
    redis = await startRedisServer(redis.port);
    while (spec.app.get(Redis).status !== 'ready') await new Promise((resolve) => void setTimeout(resolve, 20));
    // Its clients are gone with it: asked again, the relay says so instead of going by memory.
    expect([201, 401]).toContain((await open(bearer())).status);
  });
});
