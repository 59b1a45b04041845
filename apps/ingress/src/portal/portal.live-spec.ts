import { randomUUID } from 'node:crypto';
import { routesOf } from '@relay/openapi';
import { z } from 'zod';
import { controllersOf, FEATURES } from '../ingress.module.js';
import { startWebhooks, type Answer, type Partner, type Webhooks } from '../webhooks/spec-webhooks.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';

let relay: Webhooks;
let partner: Partner;
beforeAll(async () => {
  relay = await startWebhooks(
    {
      PORTAL_FRAMES: 'https://app.example, https://other.example',
      PORTAL_THEME: '{"name":"A & B","logo":"https://cdn.example/acme.svg?v=2"}',
    },
    FEATURES.filter((module) => module !== WebhooksModule),
  );
  partner = await relay.aPartner();
});
afterAll(() => relay?.stop());

const Link = z.object({ url: z.string(), expiresAt: z.iso.datetime() });
const Token = z.looseObject({ token: z.string(), access: z.string(), webhookIds: z.array(z.string()).nullable() });

const linkFor = (body: object, token = partner.token): Promise<Answer> =>
  relay.ask('POST', '/portal/links', { token, body });
const codeIn = ({ json }: Answer): string =>
  new URLSearchParams(new URL(Link.parse(json).url).hash.slice(1)).get('code') ?? '';
const trade = (code: string): Promise<Answer> => relay.ask('POST', '/portal/tokens', { body: { code } });
const tokenFor = async (body: object, of = partner): Promise<string> =>
  Token.parse((await trade(codeIn(await linkFor(body, of.token)))).json).token;
const register = async (of: Partner, url: string): Promise<string> => {
  const body = { eventType: 'task.created', endPointUrl: url, apiKey: 'key-1' };
  const { json } = await relay.ask('POST', '/webhooks', { token: of.token, body });
  return z.object({ id: z.string() }).parse(json).id;
};

describe('a link', () => {
  it('has its code in the fragment, and opens the portal once', async () => {
    const link = await linkFor({ access: 'write', next: '/deliveries?status=dead' });
    expect(link.status).toBe(201);
    const { origin, pathname, search, hash } = new URL(Link.parse(link.json).url);
    expect([origin, pathname, search]).toEqual(['https://relay.example', '/portal', '']);
    expect(new URLSearchParams(hash.slice(1)).get('next')).toBe('/deliveries?status=dead');
    const code = codeIn(link);
    expect((await relay.redis.keys('*')).join(' ')).not.toContain(code);
    const [first, second] = [await trade(code), await trade(code)];
    expect([first.status, Token.parse(first.json)]).toMatchObject([
      200,
      { access: 'write', webhookIds: null, frames: ['https://app.example', 'https://other.example'] },
    ]);
    expect(second.status).toBe(404);
  });

  it.each(['', 'x', 'A'.repeat(43)])('is none for the code %j', async (code) => {
    expect((await trade(code)).status).toBe(404);
  });

  it('expires by itself', async () => {
    const code = codeIn(await linkFor({}));
    const key = (await relay.redis.keys('*:portal:*')).find((name) => !/quota|session/.test(name)) ?? '';
    const left = await relay.redis.pttl(key);
    expect([left > 0, left <= 60_000]).toEqual([true, true]);
    await relay.redis.pexpire(key, 0);
    expect((await trade(code)).status).toBe(404);
  });

  it('opens nothing once its partner is disabled', async () => {
    const other = await relay.aPartner('other');
    const code = codeIn(await linkFor({}, other.token));
    await relay.spec.clients.disable(other.clientId);
    await relay.refreshClients();
    expect((await trade(code)).status).toBe(404);
  });

  it.each([
    { ttl: 59 },
    { ttl: 901 },
    { access: 'all' },
    { webhookIds: [] },
    { next: 'https://evil.example' },
    { next: '//evil.example' },
    { more: 1 },
  ])('is not made for %j', async (body) => {
    // A path of two slashes is a place of the portal, not another host: it is behind `#`.
    expect((await linkFor(body)).status).toBe('next' in body && body.next.startsWith('//') ? 201 : 400);
  });
});

/** What each operation demands of a portal token. One that is not here takes none. */
const TAKES: Readonly<Record<string, 'read' | 'write' | 'register'>> = {
  registerWebhook: 'register',
  testDraft: 'register',
  readWebhook: 'read',
  patchWebhook: 'write',
  removeWebhook: 'write',
  readWebhookSecret: 'write',
  rotateWebhookSecret: 'write',
  enableWebhook: 'write',
  disableWebhook: 'write',
  testWebhook: 'write',
  replayWebhook: 'write',
  listDeliveries: 'read',
  listAllDeliveries: 'read',
  countDeliveries: 'read',
  listWebhookStates: 'read',
  readDeliveries: 'read',
  readPayload: 'read',
  retryDeliveries: 'write',
  retrySelection: 'write',
  listReplays: 'read',
  readReplay: 'read',
  cancelReplay: 'write',
  endPortalToken: 'read',
};

describe('a portal token', () => {
  const guarded = routesOf(controllersOf(FEATURES)).filter(({ access }) => access !== 'public');

  it('is tried on every operation', () => {
    const ids = new Set(guarded.map(({ text }) => text?.id ?? ''));
    expect(Object.keys(TAKES).filter((id) => !ids.has(id))).toEqual([]);
    expect(ids.size).toBeGreaterThan(30);
  });

  it.each(guarded)('calls $method $path only as far as the route says', async ({ method, path, text }) => {
    const takes = TAKES[text?.id ?? ''];
    const asked = path.replaceAll(/:\w+/g, randomUUID());
    const isTaken = async (grant: object): Promise<boolean> => {
      const { status } = await relay.ask(method, asked, { token: await tokenFor(grant) });
      return status !== 401 && status !== 403;
    };
    const taken = [
      await isTaken({ access: 'read' }),
      await isTaken({ access: 'write' }),
      await isTaken({ access: 'write', webhookIds: [randomUUID()] }),
    ];
    const expected = { read: [true, true, true], write: [false, true, true], register: [false, true, false] };
    expect(taken).toEqual(takes === undefined ? [false, false, false] : expected[takes]);
  });

  it('shows only the webhooks that its grant names', async () => {
    const owner = await relay.aPartner('owner');
    const [shown, hidden] = [
      await register(owner, 'https://hooks.example.com/a'),
      await register(owner, 'https://hooks.example.com/b'),
    ];
    const token = await tokenFor({ access: 'write', webhookIds: [shown] }, owner);
    const status = async (method: string, path: string, body?: object): Promise<number> =>
      (await relay.ask(method, path, { token, ...(body && { body }) })).status;
    expect((await relay.ask('GET', '/webhooks/status', { token })).json).toMatchObject({ webhooks: [{ id: shown }] });
    expect(await status('GET', `/webhooks/${shown}`)).toBe(200);
    for (const path of ['', '/secret', '/deliveries'])
      expect(await status('GET', `/webhooks/${hidden}${path}`)).toBe(404);
    expect(await status('DELETE', `/webhooks/${hidden}`)).toBe(404);
    expect(await status('POST', `/webhooks/${hidden}/replay`)).toBe(404);
    expect(await status('GET', `/deliveries?webhookId=${hidden}`)).toBe(404);
    expect(await status('GET', '/deliveries')).toBe(200);
    expect(await status('POST', '/deliveries/retry', { status: 'dead', webhookIds: [hidden] })).toBe(404);
    expect((await relay.ask('GET', `/webhooks/${hidden}`, { token: owner.token })).status).toBe(200);
  });

  it('ends when its holder leaves, and no token of the partner with it', async () => {
    const [token, stays] = [await tokenFor({}), await tokenFor({})];
    const status = async (given: string): Promise<number> =>
      (await relay.ask('GET', '/webhooks/status', { token: given })).status;
    expect(await status(token)).toBe(200);
    expect((await relay.ask('DELETE', '/portal/tokens', { token })).status).toBe(204);
    expect([await status(token), await status(stays), await status(partner.token)]).toEqual([401, 200, 200]);
  });

  it('ends with the secret of its partner', async () => {
    const owner = await relay.aPartner('rotating');
    const token = await tokenFor({}, owner);
    await relay.spec.clients.rotateSecret(owner.clientId, { endsTokens: true });
    await relay.refreshClients();
    expect((await relay.ask('GET', '/webhooks/status', { token })).status).toBe(401);
  });

  it('makes no link', async () => {
    expect((await linkFor({ access: 'write' }, await tokenFor({ access: 'write' }))).status).toBe(403);
  });
});

it('lets nobody frame the page but those who are named, and takes no script of others', async () => {
  const answer = await fetch(`${relay.spec.url}/portal`);
  if (answer.status === 200) {
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toContain('frame-ancestors https://app.example https://other.example');
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).toContain("img-src 'self' https://cdn.example/acme.svg;");
    expect(await answer.text()).toContain('<title>Webhooks – A &#38; B</title>');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  } else expect(answer.status).toBe(404);
});

it('leads from /portal/ to /portal, also behind a prefix', async () => {
  const answer = await fetch(`${relay.spec.url}/portal/`, { redirect: 'manual' });
  expect([answer.status, answer.headers.get('location')]).toEqual([308, '../portal']);
});
