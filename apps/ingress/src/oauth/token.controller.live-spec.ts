import { aSigningKeyText } from '@relay/testing';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import * as oauth from 'oauth4webapi';
import { z } from 'zod';
import { appOfSpec } from '../http/spec-app.js';
import { OAuthModule } from './oauth.module.js';

const spec = await appOfSpec([OAuthModule], { JWT_PRIVATE_KEYS: `${aSigningKeyText('k2')},${aSigningKeyText('k1')}` });
const partner = await spec.clients.createPartner('Acme');

const Token = z.strictObject({
  access_token: z.string(),
  token_type: z.literal('bearer'),
  expires_in: z.literal(3_600),
  scope: z.string(),
});
const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
const right = (): string => basic(partner.clientId, partner.clientSecret);
const ask = (headers: Record<string, string>, body?: string): Promise<Response> =>
  fetch(`${spec.url}/auth/token`, { method: 'POST', headers, ...(body === undefined ? {} : { body }) });
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const GRANT = 'grant_type=client_credentials';
const json = { 'content-type': 'application/json' };

describe('POST /auth/token', () => {
  it.each([
    ["the specification's own request", 'Content-Type: application/json\r\n'],
    ['with a length of 0', 'Content-Type: application/json\r\nContent-Length: 0\r\n'],
    ['with no content type', ''],
    ['with no content type and a length of 0', 'Content-Length: 0\r\n'],
    ['chunked, with no byte and no content type', 'Transfer-Encoding: chunked\r\n', '0\r\n\r\n'],
    ['chunked, with no byte', 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'],
  ])('answers a token to the letter: %s', async (_name, headers, rest = '') => {
    const answer = await spec.raw(
      `POST /auth/token HTTP/1.1\r\nHost: relay.example\r\nConnection: close\r\nAuthorization: ${right()}\r\n${headers}\r\n${rest}`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(answer).toMatch(/\r\ncache-control: no-store\r\n/i);
    expect(answer).toMatch(/\r\npragma: no-cache\r\n/i);
    expect(answer).toMatch(/\r\ncontent-type: application\/json/i);
    const body: unknown = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
    expect(Token.parse(body).scope).toBe('webhooks sessions');
    expect(Object.keys(Token.parse(body))).toEqual(['access_token', 'token_type', 'expires_in', 'scope']);
  });

  it.each([
    ['an empty object', json, '{}', 'webhooks sessions'],
    ['an object with the grant', json, '{"grant_type":"client_credentials","x":1}', 'webhooks sessions'],
    ['an object with a scope', json, '{"scope":"sessions"}', 'sessions'],
    ['a form', form, 'grant_type=client_credentials', 'webhooks sessions'],
    ['a form with its scope left empty', form, 'grant_type=client_credentials&scope=', 'webhooks sessions'],
    ['a form with scopes', form, 'grant_type=client_credentials&scope=sessions+webhooks', 'webhooks sessions'],
    ['an empty form', form, '', 'webhooks sessions'],
    ['a form with its own client id', form, `${GRANT}&client_id=${partner.clientId}`, 'webhooks sessions'],
  ])('takes %s', async (_name, headers, body, scope) => {
    const response = await ask({ ...headers, authorization: right() }, body);
    expect([response.status, Token.parse(await response.json()).scope]).toEqual([200, scope]);
  });

  it.each([
    ['another grant', form, 'grant_type=password', 'unsupported_grant_type'],
    ['another grant as JSON', json, '{"grant_type":"password"}', 'unsupported_grant_type'],
    ['a scope of others', form, 'grant_type=client_credentials&scope=operations', 'invalid_scope'],
    ['a scope that is none', form, 'grant_type=client_credentials&scope=a++b', 'invalid_scope'],
    ['a form without a grant', form, 'scope=sessions', 'invalid_request'],
    ['a grant twice', form, 'grant_type=client_credentials&grant_type=client_credentials', 'invalid_request'],
    ['a secret beside the header', form, `${GRANT}&client_secret=no`, 'invalid_request'],
    ['its own secret beside the header', form, `${GRANT}&client_secret=${partner.clientSecret}`, 'invalid_request'],
    ['an assertion beside the header', form, `${GRANT}&client_assertion=a.b.c`, 'invalid_request'],
    ['the id of another client', form, `${GRANT}&client_id=partner_other`, 'invalid_request'],
    ['a secret beside the header as JSON', json, '{"client_secret":"no"}', 'invalid_request'],
    ['a scope twice', form, 'grant_type=client_credentials&scope=a&scope=a', 'invalid_request'],
    ['no JSON', json, '{', 'invalid_request'],
    ['an array', json, '[]', 'invalid_request'],
    ['a grant that is no text', json, '{"grant_type":1}', 'invalid_request'],
  ])('refuses %s', async (_name, headers, body, error) => {
    const response = await ask({ ...headers, authorization: right() }, body);
    expect([response.status, await response.json()]).toEqual([400, { error, error_description: expect.any(String) }]);
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  it.each([
    ['a wrong secret', () => ({ authorization: basic(partner.clientId, 'relay_sk_wrong') })],
    ['an unknown client', () => ({ authorization: basic('partner_unknown', partner.clientSecret) })],
    ['no colon', () => ({ authorization: `Basic ${Buffer.from('nocolon').toString('base64')}` })],
    ['no Base64', () => ({ authorization: 'Basic ???' })],
    ['a malformed escape', () => ({ authorization: basic(partner.clientId, '%zz') })],
    ['the secret of a fixed credential', () => ({ authorization: 'Bearer abc' })],
  ])('answers the same 401 to %s', async (_name, headers) => {
    const response = await ask({ ...json, ...headers() });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Basic realm="relay", charset="UTF-8"');
    expect(await response.json()).toEqual({
      error: 'invalid_client',
      error_description: 'The client id or the client secret is wrong',
    });
  });

  it('does not read credentials of the query or the body', async () => {
    const given = `client_id=${partner.clientId}&client_secret=${partner.clientSecret}`;
    const response = await fetch(`${spec.url}/auth/token?${given}`, {
      method: 'POST',
      headers: form,
      body: `grant_type=client_credentials&${given}`,
    });
    expect([response.status, await response.json()]).toEqual([
      401,
      { error: 'invalid_client', error_description: 'Send the client id and the client secret by HTTP Basic' },
    ]);
  });

  it('compares the scheme in any letter case', async () => {
    for (const scheme of ['basic', 'BASIC', 'bAsIc'])
      expect((await ask({ authorization: right().replace('Basic', scheme) })).status).toBe(200);
  });

  it('answers a problem to another method or content type', async () => {
    const got = await fetch(`${spec.url}/auth/token`);
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await ask({ 'content-type': 'text/plain', authorization: right() }, 'x')).status).toBe(415);
  });

  it('takes both secrets while one is rotated, and refuses the one before', async () => {
    const { clientId, clientSecret: first } = await spec.clients.createPartner('Rotating');
    const { clientSecret: second } = await spec.clients.rotateSecret(clientId);
    const { clientSecret: third } = await spec.clients.rotateSecret(clientId, { force: true });
    const statuses = await Promise.all(
      [first, second, third].map(async (secret) => (await ask({ authorization: basic(clientId, secret) })).status),
    );
    expect(statuses).toEqual([401, 200, 200]);
  });

  it('refuses repeated failures of one client for a while, nobody else, and never the right secret', async () => {
    const [noisy, other] = [await spec.clients.createPartner('Noisy'), await spec.clients.createPartner('Other')];
    const wrong = { authorization: basic(noisy.clientId, 'wrong') };
    const statuses: number[] = [];
    for (let i = 0; i < 10; i += 1) statuses.push((await ask(wrong)).status);
    expect(new Set(statuses)).toEqual(new Set([401]));
    const refused = await ask(wrong);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);
    expect(await refused.json()).toMatchObject({ error: 'temporarily_unavailable' });
    expect((await ask({ authorization: basic(other.clientId, other.clientSecret) })).status).toBe(200);
    expect((await ask({ authorization: basic(other.clientId, 'wrong') })).status).toBe(401);
    expect((await ask({ authorization: basic(noisy.clientId, noisy.clientSecret) })).status).toBe(200);
  });
});

describe('an access token', () => {
  it('is one of RFC 9068 by the first key', async () => {
    const { access_token: token } = Token.parse(await (await ask({ authorization: right() })).json());
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: 'k2' });
    const claims = decodeJwt(token);
    expect(claims).toEqual({
      iss: 'https://relay.example',
      aud: 'https://relay.example',
      sub: partner.clientId,
      client_id: partner.clientId,
      scope: 'webhooks sessions',
      gen: 0,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      iat: expect.any(Number),
      exp: (claims.iat ?? 0) + 3_600,
    });
  });

  it('is what an OAuth library gets by discovery, and verifies with our published keys', async () => {
    const options = {
      [oauth.allowInsecureRequests]: true,
      // The issuer is the public address; the spec's server stands behind it.
      [oauth.customFetch]: (url: string, init: object) => fetch(url.replace('https://relay.example', spec.url), init),
    };
    const issuer = new URL('https://relay.example');
    const discovered = await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' });
    const server = await oauth.processDiscoveryResponse(issuer, discovered);
    const client = { client_id: partner.clientId };
    const proof = oauth.ClientSecretBasic(partner.clientSecret);
    const response = await oauth.clientCredentialsGrantRequest(server, client, proof, { scope: 'sessions' }, options);
    const granted = await oauth.processClientCredentialsResponse(server, client, response);
    expect(granted).toMatchObject({ token_type: 'bearer', expires_in: 3_600, scope: 'sessions' });
    const request = new Request('https://api.example', {
      headers: { authorization: `Bearer ${granted.access_token}` },
    });
    const claims = await oauth.validateJwtAccessToken(server, request, 'https://relay.example', options);
    expect(claims.client_id).toBe(partner.clientId);
    const keys = z.object({ keys: z.array(z.record(z.string(), z.string())) });
    const published = keys.parse(await (await fetch(`${spec.url}/.well-known/jwks.json`)).json());
    expect(published.keys.map(({ kid }) => kid)).toEqual(['k2', 'k1']);
    expect(JSON.stringify(published)).not.toContain('"d"');
  });
});
