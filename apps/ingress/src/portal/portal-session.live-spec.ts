import { randomBytes } from 'node:crypto';
import { aSigningKeyText } from '@relay/testing';
import { z } from 'zod';
import { aConfig, startSpecApp, type SpecApp } from '../http/spec-app.js';
import { FEATURES } from '../ingress.module.js';
import { startWebhooks, type Answer, type Partner, type Webhooks } from '../webhooks/spec-webhooks.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';

const KEYS = {
  ENCRYPTION_KEYS: `e1:${randomBytes(32).toString('base64')}`,
  JWT_PRIVATE_KEYS: aSigningKeyText(),
};
let relay: Webhooks;
let partner: Partner;
/** Ingresses of the same relay: one more, and one that keeps no sessions. */
let other: SpecApp;
let forgetful: SpecApp;
beforeAll(async () => {
  const features = FEATURES.filter((module) => module !== WebhooksModule);
  relay = await startWebhooks(KEYS, features);
  const beside = (changes: object): Promise<SpecApp> =>
    startSpecApp([...FEATURES], aConfig(relay.server.url(), { ...KEYS, ...changes }));
  other = await beside({});
  forgetful = await beside({ PORTAL_KEEP_SESSION: 'false' });
  partner = await relay.aPartner();
});
afterAll(async () => {
  await Promise.all([other?.app.close(), forgetful?.app.close()]);
  await relay?.stop();
});

const Session = z.looseObject({ token: z.string(), handle: z.string(), expiresAt: z.string() });
type Session = z.infer<typeof Session>;

/** Asks another ingress. */
const askAt = ({ url }: SpecApp, path: string, body: object): Promise<Response> =>
  fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
const codeFor = async ({ token } = partner, body: object = {}): Promise<string | null> => {
  const { json } = await relay.ask('POST', '/portal/links', { token, body });
  return new URLSearchParams(new URL((json as { url: string }).url).hash.slice(1)).get('code');
};
const opened = async (of?: Partner, body?: object): Promise<Session> =>
  Session.parse((await relay.ask('POST', '/portal/tokens', { body: { code: await codeFor(of, body) } })).json);
const renew = (handle: string): Promise<Answer> => relay.ask('POST', '/portal/tokens/renew', { body: { handle } });
const renewed = async (handle: string): Promise<Session> => Session.parse((await renew(handle)).json);
const renewalAt = async (ingress: SpecApp, handle: string): Promise<number> =>
  (await askAt(ingress, '/portal/tokens/renew', { handle })).status;
const statusOf = async (token: string): Promise<number> =>
  (await relay.ask('GET', '/webhooks/status', { token })).status;
const keyOf = (handle: string): string => `{relay:0}:portal:session:${handle.split('.')[0] ?? ''}`;
/** Lets this many seconds pass since the last renewal. */
const pass = async (handle: string, seconds: number): Promise<void> => {
  await relay.redis.hincrby(keyOf(handle), 'at', -seconds * 1_000);
};

it('goes on with a new token and a new handle, which Redis does not hold, until the same time', async () => {
  const first = await opened(partner, { access: 'write', ttl: 300 });
  const answer = await renew(first.handle);
  const next = Session.parse(answer.json);
  expect(answer.headers['cache-control']).toBe('no-store');
  expect({ ...next, token: '', handle: '' }).toEqual({ ...first, token: '', handle: '' });
  expect(next.handle).not.toBe(first.handle);
  expect([await statusOf(first.token), await statusOf(next.token)]).toEqual([200, 200]);
  expect(await relay.redis.pttl(keyOf(first.handle))).toBeLessThanOrEqual(300_000);
  expect(await renewalAt(other, next.handle)).toBe(200);
  const kept = JSON.stringify([await relay.redis.keys('*'), await relay.redis.hgetall(keyOf(next.handle))]);
  expect(kept).toContain(next.handle.split('.')[0]);
  expect(kept).not.toContain(next.handle.split('.').at(-1));
});

it('answers one handle to two loads at once and to a lost answer, for 30 s, which no use prolongs', async () => {
  const { handle } = await opened();
  const [one, two] = await Promise.all([renewed(handle), renewed(handle)]);
  expect(one.handle).toBe(two.handle);
  await pass(handle, 20);
  expect((await renewed(handle)).handle).toBe(one.handle);
  await pass(handle, 11);
  expect((await renew(handle)).status).toBe(404);
});

it('ends for all who hold its handles when an old one is presented, and no other session with it', async () => {
  const [first, beside] = [await opened(), await opened()];
  const stolen = first.handle;
  const person = await renewed(stolen);
  await pass(stolen, 31);
  expect((await renew(stolen)).status).toBe(404);
  expect([(await renew(person.handle)).status, await renewalAt(other, person.handle)]).toEqual([404, 404]);
  expect([await statusOf(first.token), await statusOf(person.token)]).toEqual([401, 401]);
  expect([await statusOf(beside.token), (await renew(beside.handle)).status]).toEqual([200, 200]);
});

it('ends when the thief was first, at the next reload of the person', async () => {
  const { handle } = await opened();
  const thief = await renewed((await renewed(handle)).handle);
  expect((await renew(handle)).status).toBe(404);
  expect([await statusOf(thief.token), (await renew(thief.handle)).status]).toEqual([401, 404]);
});

it('is renewed by no handle that the relay has not issued', async () => {
  const [own, foreign] = [await opened(), await opened(await relay.aPartner('b'))];
  const [id = '', number = '', ...mac] = own.handle.split('.');
  const [foreignId = ''] = foreign.handle.split('.');
  const forged = [
    [foreignId, number, ...mac].join('.'),
    [id, '2', ...mac].join('.'),
    own.handle.slice(0, -1),
    `${own.handle}A`,
    id,
    '',
  ];
  for (const handle of forged) expect([handle, (await renew(handle)).status]).toEqual([handle, 404]);
  expect((await renewed(foreign.handle))['partnerId']).toBe(foreign['partnerId']);
  expect((await renewed(own.handle))['partnerId']).toBe(partner.clientId);
});

it.each([
  [
    'its holder leaves while it is renewed',
    ({ token, handle }: Session) => Promise.all([renew(handle), relay.ask('DELETE', '/portal/tokens', { token })]),
  ],
  [
    'its time is over',
    async ({ handle }: Session) => {
      await relay.redis.pexpire(keyOf(handle), 0);
    },
  ],
])('ends at every ingress at once when %s', async (_, end) => {
  const { handle, ...session } = await opened();
  await end({ handle, ...session });
  expect([await renewalAt(other, handle), (await renew(handle)).status]).toEqual([404, 404]);
});

it.each([
  ['is disabled', (id: string) => relay.spec.clients.disable(id)],
  ['gets another secret', (id: string) => relay.spec.clients.rotateSecret(id, { endsTokens: true, force: true })],
])('ends when its partner %s', async (_, end) => {
  const owner = await relay.aPartner('owner');
  const { handle } = await opened(owner);
  await end(owner.clientId);
  await relay.refreshClients();
  expect((await renew(handle)).status).toBe(404);
});

it('ends when its partner revokes the token that came first', async () => {
  const { clientId, clientSecret } = await relay.spec.clients.createPartner('revokes');
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  const form = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
  const login = await relay.ask('POST', '/auth/token', { headers: { authorization } });
  const first = await opened({ clientId, token: (login.json as { access_token: string }).access_token });
  const next = await renewed(first.handle);
  await relay.ask('POST', '/auth/revoke', { headers: form, body: `token=${first.token}` });
  expect([await statusOf(next.token), (await renew(next.handle)).status]).toEqual([401, 404]);
});

it('survives that Redis loses its last writes', async () => {
  const { handle } = await opened();
  const next = await renewed((await renewed(handle)).handle);
  await relay.redis.hset(keyOf(handle), 'number', 1);
  expect((await renew(next.handle)).status).toBe(200);
});

it('is renewed 60 times a minute', async () => {
  let { handle } = await opened();
  for (let renewal = 0; renewal < 60; renewal += 1) ({ handle } = await renewed(handle));
  const refused = await renew(handle);
  expect([refused.status, refused.headers['ratelimit-policy']]).toEqual([429, '"portal-renewals";q=60;w=60']);
});

it('is not kept without PORTAL_KEEP_SESSION', async () => {
  const { handle } = await opened();
  expect(await renewalAt(forgetful, handle)).toBe(404);
  const answer = await askAt(forgetful, '/portal/tokens', { code: await codeFor() });
  expect(Object.keys((await answer.json()) as object)).not.toContain('handle');
});
