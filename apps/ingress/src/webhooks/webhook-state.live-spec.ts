import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebhookStore } from '@relay/webhooks';
import { startWebhooks, type Answer, type Partner, type Webhooks } from './spec-webhooks.js';

let relay: Webhooks;
let partner: Partner;
let other: Partner;
let endpoint: Server;
let url: string;
let received = 0;
beforeAll(async () => {
  endpoint = createServer((request, response) => {
    received += 1;
    request.resume().on('end', () => response.writeHead(204).end());
  });
  await new Promise<void>((resolve) => void endpoint.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/hooks`;
  relay = await startWebhooks({ EGRESS_ALLOW_HTTP: 'true', EGRESS_ALLOW_CIDRS: '127.0.0.0/8' });
  [partner, other] = [await relay.aPartner('one'), await relay.aPartner('two')];
});
afterAll(async () => {
  await relay?.stop();
  endpoint?.close();
});

/** Every record and the version that each change moves. Not by DUMP: a large hash changes its order by itself. */
const stored = (): Promise<unknown> =>
  Promise.all([relay.redis.hgetall('{relay:0}:webhooks'), relay.redis.get('{relay:0}:registry:version')]);

let registered = 0;
const register = async (): Promise<string> => {
  const body = { eventType: 'task.created', endPointUrl: `${url}/${(registered += 1)}`, apiKey: 'key-1' };
  const { json } = await relay.ask('POST', '/webhooks', { token: partner.token, body });
  return (json as { id: string }).id;
};
const ask = (
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
  by = partner,
): Promise<Answer> =>
  relay.ask(method, `/webhooks/${path}`, { token: by.token, headers, ...(body === undefined ? {} : { body }) });
const etag = ({ headers }: Answer): string => headers.etag ?? '';

describe('If-Match', () => {
  const changes: [string, (id: string, headers: Record<string, string>) => Promise<Answer>][] = [
    ['PATCH', (id, headers) => ask('PATCH', id, { endPointName: 'n' }, headers)],
    ['disable', (id, headers) => ask('POST', `${id}/disable`, undefined, headers)],
    ['enable', (id, headers) => ask('POST', `${id}/enable`, undefined, headers)],
    ['rotate', (id, headers) => ask('POST', `${id}/secret/rotate`, undefined, headers)],
    ['test', (id, headers) => ask('POST', `${id}/test`, undefined, headers)],
    ['PUT', (id, headers) => replace(headers, id)],
    ['DELETE /webhooks', (id, headers) => remove(headers, id)],
    ['DELETE', (id, headers) => ask('DELETE', id, undefined, headers)],
  ];
  const on = (method: string, headers: Record<string, string>, body: object, by: Partner): Promise<Answer> =>
    relay.ask(method, '/webhooks', { token: by.token, headers, body: { eventType: 'task.created', ...body } });
  const replace = (headers: Record<string, string>, id?: string, by = partner) =>
    on('PUT', headers, { endPointUrl: `${url}/${registered}`, apiKey: 'k', ...(id === undefined ? {} : { id }) }, by);
  const remove = (headers: Record<string, string>, id?: string, by = partner) =>
    on('DELETE', headers, id === undefined ? {} : { id }, by);

  it.each(changes)(
    'with another version prevents %s, and with the current version lets it be done',
    async (_name, send) => {
      const id = await register();
      const old = etag(await ask('GET', id));
      await ask('PATCH', id, { endPointName: 'first' });
      await ask('POST', `${id}/disable`);
      const present = etag(await ask('GET', id));
      const [before, sent] = [await stored(), received];
      for (const header of [old, '"x"', `W/${present}`, `"x", ${old}`]) {
        const refused = await send(id, { 'if-match': header });
        expect([refused.status, refused.json]).toMatchObject([412, { title: 'Precondition failed' }]);
      }
      expect((await send(id, { 'if-match': 'x' })).status).toBe(400);
      expect([await stored(), received]).toEqual([before, sent]);
      expect((await send(id, { 'if-match': `"x", ${present}` })).status).toBeLessThan(300);
    },
  );

  it.each(changes)('with * lets %s be done', async (_name, send) => {
    expect((await send(await register(), { 'if-match': '*' })).status).toBeLessThan(300);
  });

  it('is about the only webhook of the event type where no id is named', async () => {
    const alone = await relay.aPartner('alone');
    const body = { eventType: 'task.created', endPointUrl: `${url}/alone`, apiKey: 'key-1' };
    const { json } = await relay.ask('POST', '/webhooks', { token: alone.token, body });
    const { id } = json as { id: string };
    const tag = async () => ({ 'if-match': etag(await ask('GET', id, undefined, {}, alone)) });
    const old = await tag();
    await ask('PATCH', id, { endPointName: 'first' }, {}, alone);
    const answers = [await replace(old, undefined, alone), await remove(old, undefined, alone)];
    answers.push(await replace(await tag(), undefined, alone), await remove(await tag(), undefined, alone));
    expect(answers.map((answer) => answer.status)).toEqual([412, 412, 200, 200]);
  });

  it('keeps what has no version from being changed', async () => {
    const refused = await relay.ask('POST', '/webhooks', {
      token: partner.token,
      headers: { 'if-match': '"1"' },
      body: { eventType: 'task.created', endPointUrl: `${url}/never`, apiKey: 'key-1' },
    });
    expect(refused.status).toBe(412);
  });
});

it('a webhook that is changed while it is disabled by `If-Match` stays as it was changed, which is told', async () => {
  const id = await register();
  const header = { 'if-match': etag(await ask('GET', id)) };
  const store = relay.spec.app.get(WebhookStore);
  const disable = store.disable.bind(store);
  store.disable = async (...args) => {
    await ask('PATCH', id, { endPointName: 'changed meanwhile' });
    return disable(...args);
  };
  try {
    expect((await ask('POST', `${id}/disable`, undefined, header)).status).toBe(412);
  } finally {
    store.disable = disable;
  }
  expect((await ask('GET', id)).json).toMatchObject({ status: 'active', endPointName: 'changed meanwhile' });
  await ask('DELETE', id);
});

describe('a disabled webhook', () => {
  async function aDisabled(): Promise<string> {
    const id = await register();
    const items = relay.spec.app.get(WebhookStore);
    const version = (await items.find(partner.clientId, id))?.version ?? 0;
    expect(await items.disable(partner.clientId, id, 'gone', [version - 1])).toEqual({ kind: 'stale' });
    expect(await items.disable(other.clientId, id, 'gone', [version])).toEqual({ kind: 'not-found' });
    expect(await items.disable(partner.clientId, id, 'gone', [version])).toMatchObject({ kind: 'updated' });
    expect(await items.disable(partner.clientId, id, 'failing', [version + 1])).toEqual({ kind: 'stale' });
    expect((await ask('GET', id)).json).toMatchObject({ status: 'disabled', disabledReason: 'gone' });
    return id;
  }
  const active = { status: 'active', disabledReason: null };

  it('is active again when it is enabled', async () => {
    const answer = await ask('POST', `${await aDisabled()}/enable`);
    expect([answer.status, answer.json]).toMatchObject([200, active]);
  });

  const put = (id: string, endPointUrl: string, apiKey: string): Promise<Answer> =>
    relay.ask('PUT', '/webhooks', {
      token: partner.token,
      body: { id, eventType: 'task.created', endPointUrl, apiKey },
    });
  const stateOf = async (id: string): Promise<unknown> => {
    const { status: now, disabledReason } = (await ask('GET', id)).json as Record<string, unknown>;
    return [now, disabledReason];
  };

  it('stays so after every change that leaves its endpoint as it is', async () => {
    const id = await aDisabled();
    for (const body of [{}, { endPointName: 'mended' }, { endPointDesc: null }, { apiKey: 'key-1' }])
      expect((await ask('PATCH', id, body)).status).toBe(200);
    expect((await put(id, `${url}/${registered}`, 'key-1')).status).toBe(200);
    expect(await stateOf(id)).toEqual(['disabled', 'gone']);
  });

  it('is active again with another URL or credential, if the relay disabled it', async () => {
    for (const change of [
      (id: string) => ask('PATCH', id, { endPointUrl: `${url}/other/${id}` }),
      (id: string) => ask('PATCH', id, { apiKey: 'key-2' }),
      (id: string) => put(id, `${url}/other/${id}`, 'key-2'),
    ]) {
      const id = await aDisabled();
      expect((await change(id)).status).toBe(200);
      expect(await stateOf(id)).toEqual(['active', null]);
    }
  });

  it.each([
    ['its partner', 'partner', 200],
    ['an operator', 'operator', 409],
  ])('that %s disabled is enabled by no other change', async (_name, reason, enabled) => {
    const id = await register();
    await relay.spec.app.get(WebhookStore).disable(partner.clientId, id, reason);
    await ask('PATCH', id, {});
    await ask('PATCH', id, { endPointUrl: `${url}/other/${id}`, apiKey: 'key-2' });
    await put(id, `${url}/another/${id}`, 'key-3');
    await ask('POST', `${id}/secret/rotate`);
    await ask('POST', `${id}/test`);
    await ask('POST', `${id}/disable`);
    expect(await stateOf(id)).toEqual(['disabled', reason]);
    expect((await ask('POST', `${id}/enable`)).status).toBe(enabled);
    expect(await stateOf(id)).toEqual(enabled === 200 ? ['active', null] : ['disabled', reason]);
  });

  it('may be disabled by its partner, and keeps the reason for which it was disabled before', async () => {
    const id = await aDisabled();
    for (const disabledReason of ['gone', 'partner', 'partner']) {
      const answer = await ask('POST', `${id}/disable`);
      expect([answer.status, answer.json]).toMatchObject([200, { status: 'disabled', disabledReason }]);
      if (disabledReason === 'gone') expect((await ask('POST', `${id}/enable`)).json).toMatchObject(active);
    }
    expect((await ask('POST', `${id}/enable`)).json).toMatchObject(active);
    await ask('DELETE', id);
  });

  it('stays disabled when its secret is rotated', async () => {
    const id = await aDisabled();
    await ask('POST', `${id}/secret/rotate`);
    expect((await ask('GET', id)).json).toMatchObject({ status: 'disabled' });
  });
});
