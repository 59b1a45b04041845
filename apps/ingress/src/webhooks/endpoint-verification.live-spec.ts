import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { enableTold, WebhookStore } from '@relay/webhooks';
import { startWebhooks, type Answer, type Partner, type Webhooks } from './spec-webhooks.js';

let relay: Webhooks;
let partner: Partner;
let endpoint: Server;
let origin: string;
/** What each path answers, 204 unless it is here; and what came to it. */
const answers = new Map<string, { status: number; delayMs?: number }>();
const received: { path: string; headers: IncomingHttpHeaders }[] = [];
beforeAll(async () => {
  endpoint = createServer((request, response) => {
    const path = request.url ?? '';
    received.push({ path, headers: request.headers });
    request.resume().on('end', () => {
      const { status, delayMs = 0 } = answers.get(path) ?? { status: 204 };
      setTimeout(() => response.writeHead(status).end(), delayMs);
    });
  });
  await new Promise<void>((resolve) => void endpoint.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`;
  relay = await startWebhooks({
    EGRESS_ALLOW_HTTP: 'true',
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
    VERIFY_ENDPOINTS: 'true',
  });
  partner = await relay.aPartner('one');
});
afterAll(async () => {
  await relay?.stop();
  endpoint?.close();
});

const ask = (method: string, path: string, body?: unknown): Promise<Answer> =>
  relay.ask(method, path, { token: partner.token, ...(body === undefined ? {} : { body }) });
const inputOf = (path: string) => ({ eventType: 'task.created', endPointUrl: origin + path, apiKey: 'key-1' });
const register = async (path: string): Promise<string> => {
  const { status, json } = await ask('POST', '/webhooks', inputOf(path));
  expect(status).toBe(201);
  return `/webhooks/${(json as { id: string }).id}`;
};
const tested = async (path: string, times = 1): Promise<void> => {
  for (let n = 0; received.filter((each) => each.path === path).length < times; n += 1) {
    if (n > 500) throw new Error(`${path} was not tested ${times} times`);
    await delay(10);
  }
};
const stateOf = async (webhook: string): Promise<unknown> => {
  const { status, disabledReason } = (await ask('GET', webhook)).json as Record<string, unknown>;
  return [status, disabledReason];
};
const becomes = async (webhook: string, state: unknown[]): Promise<void> => {
  for (let n = 0; n < 500 && JSON.stringify(await stateOf(webhook)) !== JSON.stringify(state); n += 1) await delay(10);
  expect(await stateOf(webhook)).toEqual(state);
};
const ACTIVE = ['active', null];
const UNVERIFIED = ['disabled', 'unverified'];

describe('a webhook of a relay that verifies endpoints', () => {
  it('is active once a signed test delivery was answered 2xx, which is made at once', async () => {
    const webhook = await register('/good');
    await becomes(webhook, ACTIVE);
    const first = received.find(({ path }) => path === '/good');
    expect(first?.headers).toMatchObject({
      'relay-test': 'true',
      'x-api-key': 'key-1',
      'webhook-signature': expect.stringMatching(/^v1,/),
    });
  });

  it('stays disabled while its endpoint answers otherwise, until a test that its partner asks for passes', async () => {
    answers.set('/bad', { status: 500 });
    const webhook = await register('/bad');
    await tested('/bad');
    const refused = await ask('POST', `${webhook}/enable`);
    expect([refused.status, refused.json]).toMatchObject([409, { detail: expect.stringContaining('answered 500') }]);
    expect((await ask('POST', `${webhook}/test`)).json).toMatchObject({ delivered: false, status: 500 });
    expect(await stateOf(webhook)).toEqual(UNVERIFIED);
    answers.delete('/bad');
    expect((await ask('POST', `${webhook}/test`)).json).toMatchObject({ delivered: true });
    expect(await stateOf(webhook)).toEqual(ACTIVE);
  });

  it('is enabled by a test as well', async () => {
    answers.set('/later', { status: 404 });
    const webhook = await register('/later');
    await tested('/later');
    await delay(100); // that one is answered 404
    answers.delete('/later');
    const enabled = await ask('POST', `${webhook}/enable`);
    expect([enabled.status, enabled.json]).toMatchObject([200, { status: 'active' }]);
  });

  it('is verified again with another URL or credential, not with another name', async () => {
    const webhook = await register('/moves');
    await becomes(webhook, ACTIVE);
    const named = await ask('PATCH', webhook, { endPointName: 'mine' });
    expect(named.json).toMatchObject({ status: 'active', endPointName: 'mine' });
    // Nor by what it has already.
    const id = webhook.split('/').at(-1);
    expect((await ask('PUT', '/webhooks', { ...inputOf('/moves'), id })).status).toBe(200);
    expect((await ask('PATCH', webhook, { endPointUrl: `${origin}/moves`, apiKey: 'key-1' })).status).toBe(200);
    expect(await stateOf(webhook)).toEqual(ACTIVE);
    answers.set('/moved', { status: 401 });
    const moved = await ask('PATCH', webhook, { endPointUrl: `${origin}/moved` });
    expect(moved.json).toMatchObject({ status: 'disabled', disabledReason: 'unverified' });
    await tested('/moved');
    expect((await ask('PATCH', webhook, { endPointName: 'still mine' })).json).toMatchObject({ status: 'disabled' });
    await tested('/moved', 2);
    answers.delete('/moved');
    await ask('PATCH', webhook, { apiKey: 'key-2' });
    await becomes(webhook, ACTIVE);
    expect(received.at(-1)).toMatchObject({ path: '/moved', headers: { 'x-api-key': 'key-2' } });
  });

  it('that a person stopped is verified once the stop ends, if its endpoint changed meanwhile', async () => {
    const store = relay.spec.app.get(WebhookStore);
    for (const reason of ['partner', 'operator']) {
      const webhook = await register(`/stopped/${reason}`);
      await becomes(webhook, ACTIVE);
      const id = webhook.split('/').at(-1) ?? '';
      await store.disable(partner.clientId, id, reason);
      answers.set('/unproven', { status: 500 });
      await ask('PATCH', webhook, { endPointUrl: `${origin}/unproven` });
      expect(await stateOf(webhook)).toEqual(['disabled', reason]);
      expect(received.filter(({ path }) => path === '/unproven')).toHaveLength(0);
      if (reason === 'partner') expect((await ask('POST', `${webhook}/enable`)).status).toBe(409);
      else
        expect(await enableTold(store, { id, partnerId: partner.clientId }, () => Promise.resolve())).toBe('changed');
      expect(await stateOf(webhook)).toEqual(UNVERIFIED);
      answers.delete('/unproven');
      expect((await ask('POST', `${webhook}/enable`)).json).toMatchObject({ status: 'active' });
      await ask('DELETE', webhook);
      received.length = 0;
    }
  });

  it('is not made active by an enable concurrent with another URL', async () => {
    answers.set('/unseen', { status: 500 });
    for (let n = 0; n < 5; n += 1) {
      const webhook = await register(`/seen/${n}`);
      await becomes(webhook, ACTIVE);
      await Promise.all([
        ask('POST', `${webhook}/enable`),
        ask('PATCH', webhook, { endPointUrl: `${origin}/unseen` }),
        ask('POST', `${webhook}/enable`),
      ]);
      expect(await stateOf(webhook)).toEqual(UNVERIFIED);
      await ask('DELETE', webhook);
    }
  });

  it('is not verified by a test of the URL that it had before', async () => {
    answers.set('/slow', { status: 204, delayMs: 300 });
    answers.set('/other', { status: 500 });
    const webhook = await register('/slow');
    await tested('/slow');
    const id = webhook.split('/').at(-1);
    expect((await ask('PUT', '/webhooks', { ...inputOf('/other'), id })).status).toBe(200);
    await tested('/other');
    await delay(500);
    expect(await stateOf(webhook)).toEqual(UNVERIFIED);
  });
});
