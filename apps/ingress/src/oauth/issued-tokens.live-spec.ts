import { startRedisServer, type RedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { z } from 'zod';
import { aConfig, startSpecApp, type SpecApp } from '../http/spec-app.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { OAuthModule } from './oauth.module.js';

interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
}

// Two replicas over one Redis, with the same keys.
let redis: RedisServer;
let spec: SpecApp;
let replica: SpecApp;
let partner: Client;
let other: Client;
let operator: Client;
beforeAll(async () => {
  redis = await startRedisServer();
  const config = aConfig(redis.url(), { TRUST_PROXY: '1' });
  [spec, replica] = (await Promise.all([0, 1].map(() => startSpecApp([OAuthModule, SessionsModule], config)))) as [
    SpecApp,
    SpecApp,
  ];
  partner = await spec.clients.createPartner('Acme');
  other = await spec.clients.createPartner('Other');
  operator = await spec.clients.createOperator('Ops', 'admin');
});
afterAll(async () => {
  await Promise.all([spec?.app.close(), replica?.app.close()]);
  await redis?.stop();
});

const basic = ({ clientId, clientSecret }: Client): string =>
  `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
const post = (
  path: string,
  client: Client | undefined,
  body: string,
  { at = spec, from = '192.0.2.1' }: { at?: SpecApp; from?: string } = {},
): Promise<Response> =>
  fetch(at.url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-forwarded-for': from,
      ...(client === undefined ? {} : { authorization: basic(client) }),
    },
    body,
  });
const tokenOf = async (client: Client): Promise<string> => {
  const response = await post('/auth/token', client, 'grant_type=client_credentials');
  return z.object({ access_token: z.string() }).parse(await response.json()).access_token;
};
const session = async (token: string, at = spec): Promise<number> =>
  (await fetch(`${at.url}/auth/session/absent`, { headers: { authorization: `Bearer ${token}` } })).status;
const introspect = async (client: Client, token: string, at = spec): Promise<unknown> =>
  (await post('/auth/introspect', client, `token=${token}`, { at })).json();

describe('POST /auth/revoke', () => {
  it('ends a token here at once and in every process within seconds, and no other token', async () => {
    const [ended, kept] = [await tokenOf(partner), await tokenOf(partner)];
    expect([await session(ended), await session(ended, replica)]).toEqual([404, 404]);
    const answer = await post('/auth/revoke', partner, `token=${ended}&token_type_hint=access_token`);
    expect([answer.status, await answer.text()]).toEqual([200, '']);
    expect(await session(ended)).toBe(401);
    while ((await session(ended, replica)) !== 401) {
      await new Promise((resolve) => void setTimeout(resolve, 50));
    }
    expect([await session(kept), await session(kept, replica)]).toEqual([404, 404]);
    expect(await introspect(partner, ended)).toEqual({ active: false });
  });

  it("answers 200 to another client's token as to none, and leaves it", async () => {
    const theirs = await tokenOf(other);
    const answers = [theirs, 'no-token'].map(async (token) => {
      const response = await post('/auth/revoke', partner, `token=${token}`);
      return [response.status, await response.text()];
    });
    expect(await Promise.all(answers)).toEqual([
      [200, ''],
      [200, ''],
    ]);
    expect(await session(theirs)).toBe(404);
  });
});

describe('POST /auth/introspect', () => {
  it('tells a client of its own token', async () => {
    const answer = await introspect(partner, await tokenOf(partner));
    const issuer = 'https://relay.example';
    expect(answer).toEqual({
      active: true,
      scope: 'webhooks sessions',
      client_id: partner.clientId,
      token_type: 'bearer',
      exp: expect.any(Number),
      iat: expect.any(Number),
      sub: partner.clientId,
      aud: issuer,
      iss: issuer,
      jti: expect.any(String),
    });
  });

  it("tells operators of everybody's, and nobody else of others'", async () => {
    const token = await tokenOf(partner);
    expect(await introspect(operator, token)).toMatchObject({ active: true, client_id: partner.clientId });
    expect(await introspect(other, token)).toEqual({ active: false });
    expect(await introspect(partner, 'no-token')).toEqual({ active: false });
  });
});

describe.each(['/auth/revoke', '/auth/introspect'])('%s', (path) => {
  it.each([
    ['no client', undefined, 'token=a', 401, 'invalid_client'],
    ['a wrong secret', { clientId: 'partner_x', clientSecret: 'wrong' }, 'token=a', 401, 'invalid_client'],
    ['no token', 'partner', 'x=a', 400, 'invalid_request'],
    ['an empty token', 'partner', 'token=', 400, 'invalid_request'],
    ['a token twice', 'partner', 'token=a&token=b', 400, 'invalid_request'],
  ] as const)('refuses %s', async (_name, client, body, status, error) => {
    const response = await post(path, client === 'partner' ? partner : client, body);
    expect([response.status, await response.json()]).toMatchObject([status, { error }]);
    expect(response.headers.get('cache-control')).toBe('no-store');
  });
});

it('serves an OAuth library that found it by discovery', async () => {
  const options = {
    [oauth.allowInsecureRequests]: true,
    [oauth.customFetch]: (url: string, init: object) => fetch(url.replace('https://relay.example', spec.url), init),
  };
  const issuer = new URL('https://relay.example');
  const discovered = await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' });
  const server = await oauth.processDiscoveryResponse(issuer, discovered);
  const client = { client_id: partner.clientId };
  const proof = oauth.ClientSecretBasic(partner.clientSecret);
  const token = await tokenOf(partner);
  const isActive = async (): Promise<boolean> => {
    const response = await oauth.introspectionRequest(server, client, proof, token, options);
    return (await oauth.processIntrospectionResponse(server, client, response)).active;
  };
  expect(await isActive()).toBe(true);
  await oauth.processRevocationResponse(await oauth.revocationRequest(server, client, proof, token, options));
  expect(await isActive()).toBe(false);
});

it('serves openid-client, from discovery over a token to its end', async () => {
  const throughUs = (url: string, init: object): Promise<Response> =>
    fetch(url.replace('https://relay.example', spec.url), init);
  const { clientId, clientSecret } = partner;
  const proof = openid.ClientSecretBasic(clientSecret);
  const issuer = new URL('https://relay.example');
  const options = { algorithm: 'oauth2', [openid.customFetch]: throughUs } as const;
  const config = await openid.discovery(issuer, clientId, undefined, proof, options);
  const granted = await openid.clientCredentialsGrant(config, { scope: 'sessions' });
  expect(granted).toMatchObject({ token_type: 'bearer', expires_in: 3_600, scope: 'sessions' });
  expect(await session(granted.access_token)).toBe(404);
  const isActive = async (): Promise<boolean> => {
    const { active } = await openid.tokenIntrospection(config, granted.access_token);
    return active;
  };
  expect(await isActive()).toBe(true);
  await openid.tokenRevocation(config, granted.access_token);
  expect(await isActive()).toBe(false);
});

describe('failed authentications', () => {
  const wrong = (clientId: string): Client => ({ clientId, clientSecret: 'wrong' });
  const statuses = async (ask: (index: number) => Promise<Response>, times: number): Promise<number[]> => {
    const seen: number[] = [];
    for (let index = 0; index < times; index += 1) seen.push((await ask(index)).status);
    return seen;
  };

  it('are limited by client over all replicas and addresses, and the right secret still passes', async () => {
    const noisy = await spec.clients.createPartner('Noisy');
    const tried = await statuses(
      (index) =>
        post('/auth/token', wrong(noisy.clientId), '', {
          at: index % 2 === 0 ? spec : replica,
          from: `198.51.100.${index}`,
        }),
      12,
    );
    expect(tried).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429]);
    expect((await post('/auth/token', noisy, '')).status).toBe(200);
    expect((await post('/auth/token', wrong(other.clientId), '')).status).toBe(401);
  });

  it('are limited by network over all clients, and a right secret from that network still passes', async () => {
    const from = '203.0.113.9';
    const tried = await statuses((index) => post('/auth/token', wrong(`partner_${index}`), '', { from }), 101);
    expect([tried.slice(0, 100).every((status) => status === 401), tried[100]]).toEqual([true, 429]);
    expect((await post('/auth/token', other, '', { from })).status).toBe(200);
    expect((await post('/auth/token', wrong('partner_0'), '', { from: '203.0.113.10' })).status).toBe(401);
  });
});

it('checks tokens without a round trip to Redis', async () => {
  const token = await tokenOf(partner);
  await session(token);
  const client = new Redis(redis.url());
  // Both replicas also refresh what they remember, with two commands every two seconds.
  const commands = async (): Promise<number> =>
    [...(await client.info('commandstats')).matchAll(/:calls=(\d+)/g)].reduce(
      (sum, [, calls]) => sum + Number(calls),
      0,
    );
  const before = await commands();
  for (let index = 0; index < 200; index += 1) expect(await session(token)).toBe(404);
  expect((await commands()) - before).toBeLessThan(50);
  client.disconnect();
});
