import { AccessTokens } from '@relay/access';
import { startRedisServer, type RedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import { aConfig, startSpecApp, type SpecApp } from '../http/spec-app.js';
import { OAuthModule } from './oauth.module.js';

interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
}

let redis: RedisServer;
let replicas: SpecApp[];
let generous: SpecApp;
beforeAll(async () => {
  redis = await startRedisServer();
  const config = aConfig(redis.url(), { TOKEN_RATE_LIMIT: '10', INTROSPECTION_RATE_LIMIT: '20' });
  const unlimited = { ...config, TOKEN_RATE_LIMIT: 1_000_000 };
  [generous, ...replicas] = (await Promise.all(
    [unlimited, config, config].map((one) => startSpecApp([OAuthModule], one)),
  )) as [SpecApp, ...SpecApp[]];
});
afterAll(async () => {
  await Promise.all([generous, ...(replicas ?? [])].map((spec) => spec?.app.close()));
  await redis?.stop();
});

const post = (path: string, client: Client, body: string, at: SpecApp | undefined): Promise<Response> =>
  fetch(`${at?.url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: `Basic ${Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64')}`,
    },
    body,
  });

describe.each([
  ['/auth/token', 'grant_type=client_credentials', 'token', 10],
  ['/auth/revoke', 'token=a', 'revoke', 10],
  ['/auth/introspect', 'token=a', 'introspect', 20],
])('a client that asks %s without end', (path, body, name, points) => {
  it('is refused beyond its quota of all replicas, which every answer tells; nobody else is', async () => {
    const [noisy, other] = [
      await generous.clients.createSource('Noisy'),
      await generous.clients.createPartner('Other'),
    ];
    const answers: Response[] = [];
    for (let index = 0; index < points + 3; index += 1)
      answers.push(await post(path, noisy as Client, body, replicas[index % 2]));
    expect(answers.map(({ status }) => status)).toEqual(answers.map((_, index) => (index < points ? 200 : 429)));
    for (const [index, { headers }] of answers.entries()) {
      expect(headers.get('ratelimit-policy')).toBe(`"${name}";q=${points};w=60`);
      const left = Math.max(0, points - 1 - index);
      expect(headers.get('ratelimit')).toMatch(new RegExp(`^"${name}";r=${left};t=[1-9][0-9]?$`));
    }
    const refused = answers.at(-1);
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(50);
    expect(await refused?.json()).toEqual({
      error: 'temporarily_unavailable',
      error_description: 'Too many requests of this client',
    });
    expect((await post(path, other, body, replicas[0])).status).toBe(200);
    // Whoever does not know the secret uses up nothing of the quota.
    const wrong = { ...other, clientSecret: 'wrong' };
    for (let index = 0; index < points; index += 1) await post(path, wrong, body, replicas[index % 2]);
    expect((await post(path, other, body, replicas[1])).status).toBe(200);
  });
});

it('a client that fetches and revokes without end leaves a bounded log, and its new tokens work', async () => {
  const client = await generous.clients.createPartner('Churns');
  const store = new Redis(redis.url());
  const tokens = generous.app.get(AccessTokens);
  const issue = (): Promise<string> => tokens.issue(client.clientId, ['sessions']);
  const all: string[] = [];
  for (let index = 0; index < 2_500; index += 50) {
    const batch = await Promise.all(Array.from({ length: 50 }, issue));
    const answers = await Promise.all(batch.map((token) => post('/auth/revoke', client, `token=${token}`, generous)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    all.push(...batch);
  }
  expect(await store.xlen('{relay:0}:tokens:revoked')).toBeLessThanOrEqual(1_100);
  const kinds = await Promise.all(all.map(async (token) => (await tokens.verify(token)).kind));
  expect(new Set(kinds)).toEqual(new Set(['ended']));
  expect((await tokens.verify(await issue())).kind).toBe('valid');
  store.disconnect();
});
