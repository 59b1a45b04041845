import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { startWebhooks, type Answer, type Partner, type Webhooks } from './spec-webhooks.js';

let relay: Webhooks;
let partner: Partner;
let other: Partner;
let endpoint: Server;
let url: string;
const received: { headers: IncomingHttpHeaders; body: string }[] = [];
let status = 204;
/** What the endpoint waits for before it answers. */
let held: Promise<void> = Promise.resolve();
beforeAll(async () => {
  endpoint = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => {
        received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
        void held.then(() => response.writeHead(status).end());
      });
  });
  await new Promise<void>((resolve) => void endpoint.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/hooks`;
  relay = await startWebhooks({
    EGRESS_ALLOW_HTTP: 'true',
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
    WEBHOOKS_PER_ORIGIN: '100',
  });
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

describe('GET /webhooks/{id}', () => {
  it('shows the address without the white space that was pasted around it, and otherwise as it was registered', async () => {
    const endPointUrl = `${url.replace('http', 'HTTP')}/%7epasted?q=a b`;
    const body = { eventType: 'task.created', endPointUrl: ` \t${endPointUrl}\r\n\u00a0`, apiKey: 'key-1' };
    const { json } = await relay.ask('POST', '/webhooks', { token: partner.token, body });
    const { id } = json as { id: string };
    expect((await ask('GET', id)).json).toMatchObject({ endPointUrl });
    expect((await ask('PATCH', id, { endPointUrl: ` ${endPointUrl}/2 ` })).json).toMatchObject({
      endPointUrl: `${endPointUrl}/2`,
    });
    expect((await ask('PATCH', id, { endPointUrl: `${endPointUrl}\n/2` })).status).toBe(400);
  });

  it('shows the state and the kind of credential, never the credential', async () => {
    const id = await register();
    const answer = await ask('GET', id.toUpperCase());
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      id,
      eventType: 'task.created',
      endPointUrl: `${url}/${registered}`,
      endPointDesc: null,
      endPointName: null,
      status: 'active',
      disabledReason: null,
      waiting: 0,
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: expect.stringMatching(/Z$/),
      credentialType: 'apiKey',
    });
    expect(etag(answer)).toMatch(/^"\d+"$/);
    expect(answer.text).not.toContain('key-1');
  });
});

describe('PATCH /webhooks/{id}', () => {
  it('changes the named attributes and nothing else', async () => {
    const id = await register();
    const before = await ask('GET', id);
    const answer = await ask('PATCH', id, {
      endPointName: 'new',
      userName: 'u',
      password: 'p',
    });
    expect([answer.status, etag(answer) === etag(before)]).toEqual([200, false]);
    expect(answer.json).toMatchObject({
      eventType: 'task.created',
      endPointName: 'new',
      credentialType: 'basic',
      endPointUrl: `${url}/${registered}`,
    });
    expect((await ask('PATCH', id, { endPointName: null })).json).toMatchObject({
      endPointName: null,
      credentialType: 'basic',
    });
  });

  it('takes a webhook as GET shows it, with changes of what a patch can change', async () => {
    const id = await register();
    const read = (await ask('GET', id)).json as object;
    const back = await ask('PATCH', id, { ...read, id: id.toUpperCase(), endPointName: 'read, changed, written' });
    expect([back.status, back.json]).toMatchObject([200, { endPointName: 'read, changed, written' }]);
    // A delivery has come meanwhile.
    const again = (await ask('GET', id)).json as object;
    await relay.redis.hset(`{relay:0}:waiting:${id}`, 'a', '1');
    expect((await ask('PATCH', id, again)).status).toBe(200);
    expect((await ask('PATCH', id, read)).json).toMatchObject({
      errors: expect.arrayContaining([expect.objectContaining({ pointer: '/updatedAt' })]),
    });
  });

  it.each([
    [{ enabled: false }, '/enabled', '/disable'],
    [{ EndPointName: 'x' }, '/EndPointName', 'not known'],
    [{ status: 'disabled' }, '/status', '/disable'],
    [{ status: 'parked' }, '/status', '/disable'],
    [{ disabledReason: 'partner' }, '/disabledReason', '/disable'],
    [{ eventType: 'plan.created' }, '/eventType', 'register another'],
    [{ id: '6f1e2d3c-4b5a-4968-8776-655443322110' }, '/id', 'never'],
    [{ waiting: 7 }, '/waiting', 'counts'],
    [{ createdAt: '2030-01-01T00:00:00.000Z' }, '/createdAt', 'never'],
    [{ credentialType: 'jwt' }, '/credentialType', 'send apiKey'],
    [{ secret: 'whsec_x' }, '/secret', '/secret/rotate'],
  ])('refuses %j and says what does it', async (body, pointer, what) => {
    const id = await register();
    const before = await stored();
    const { status: code, json } = await ask('PATCH', id, { endPointName: 'n', ...body });
    expect([code, json]).toMatchObject([400, { errors: [{ pointer, detail: expect.stringContaining(what) }] }]);
    expect(await stored()).toEqual(before);
  });

  it.each([
    ['two credentials', { apiKey: 'a', jwt: 'b' }, ''],
    ['half a credential', { userName: 'a' }, '/password'],
    ['a forbidden address', { endPointUrl: 'https://10.0.0.1/' }, '/endPointUrl'],
    ['a text too long', { endPointName: 'x'.repeat(201) }, '/endPointName'],
  ])('refuses %s', async (_name, body, pointer) => {
    const { status: code, json } = await ask('PATCH', await register(), body);
    expect([code, json]).toMatchObject([
      400,
      { errors: expect.arrayContaining([{ pointer, detail: expect.any(String) }]) },
    ]);
  });

  it("refuses the address of another webhook of its type with that one's id", async () => {
    const [taken, id] = [await register(), await register()];
    const { status: code, json } = await ask('PATCH', id, { endPointUrl: `${url}/${registered - 1}` });
    expect([code, json]).toMatchObject([409, { id: taken }]);
  });
});

describe('DELETE /webhooks/{id}', () => {
  it('deletes it once', async () => {
    const id = await register();
    const read = etag(await ask('GET', id));
    expect((await ask('DELETE', id, undefined, { 'if-match': read })).status).toBe(204);
    expect([(await ask('GET', id)).status, (await ask('DELETE', id)).status]).toEqual([404, 404]);
  });
});

describe('POST /webhooks/{id}/test', () => {
  it('sends a signed sample with the credential, and while the secret is rotated both verify', async () => {
    const id = await register();
    const old = (await ask('GET', `${id}/secret`)).json as { secret: string };
    const { json: rotated } = await ask('POST', `${id}/secret/rotate`);
    const next = rotated as { secret: string };
    expect([next.secret === old.secret, (await ask('GET', `${id}/secret`)).json]).toEqual([false, next]);
    const answer = await ask('POST', `${id}/test`);
    expect([answer.status, answer.json]).toMatchObject([200, { delivered: true, status: 204 }]);
    const { headers, body } = received.at(-1) ?? { headers: {}, body: '' };
    expect(headers).toMatchObject({
      'x-api-key': 'key-1',
      'relay-test': 'true',
      'relay-event-type': 'task.created',
      traceparent: expect.stringMatching(/^00-/),
    });
    for (const { secret } of [old, next])
      expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({
        type: 'task.created',
      });
    // A repeat within 60 s.
    expect((await ask('POST', `${id}/secret/rotate`)).json).toEqual(next);
    await ask('POST', `${id}/test`);
    const third = received.at(-1) ?? { headers: {}, body: '' };
    for (const { secret } of [old, next])
      expect(new Webhook(secret).verify(third.body, third.headers as Record<string, string>)).toBeDefined();
  });

  it('reports the answer of the endpoint, and is limited to six a minute', async () => {
    const id = await register();
    status = 500;
    const answers = [];
    for (let index = 0; index < 7; index += 1) answers.push(await ask('POST', `${id}/test`));
    status = 204;
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200, 200, 200, 429]);
    expect(answers[0]?.json).toMatchObject({ delivered: false, status: 500, detail: 'answered 500' });
    expect(answers[6]?.headers).toMatchObject({
      'ratelimit-policy': '"webhook-test";q=6;w=60',
      'retry-after': expect.any(String),
    });
  });

  it('is sent to one endpoint 16 times at once and no more', async () => {
    const ids = [await register(), await register(), await register()];
    let letGo = (): void => undefined;
    held = new Promise((resolve) => (letGo = resolve));
    const before = received.length;
    const answers = ids.flatMap((id) => Array.from({ length: 6 }, () => ask('POST', `${id}/test`)));
    await Promise.race(answers); // those that are refused are answered first
    while (received.length < before + 16) await new Promise((resolve) => setTimeout(resolve, 10));
    letGo();
    const statuses = (await Promise.all(answers)).map((answer) => answer.status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([...Array<number>(16).fill(200), 429, 429]);
    expect((await ask('POST', `${await register()}/test`)).status).toBe(200);
  });
});

it('shows the number of waiting deliveries, and that it is parked while deliveries wait in the log', async () => {
  const id = await register();
  await relay.redis.hset(`{relay:0}:waiting:${id}`, 'a', '1', 'b', '2');
  await relay.redis.hset(`{relay:0}:parked:${id}`, 'task.created/0', '5-');
  expect((await ask('GET', id)).json).toMatchObject({ status: 'parked', waiting: 2 });
  await relay.redis.del(`{relay:0}:parked:${id}`);
  expect((await ask('GET', id)).json).toMatchObject({ status: 'active', waiting: 2 });
});

it.each([
  ['GET', ''],
  ['PATCH', ''],
  ['DELETE', ''],
  ['GET', '/secret'],
  ['POST', '/secret/rotate'],
  ['POST', '/enable'],
  ['POST', '/disable'],
  ['POST', '/test'],
])("%s of another partner's /webhooks/{id}%s is that of one that never was", async (method, path) => {
  const id = await register();
  const before = await stored();
  const body = method === 'PATCH' ? {} : undefined;
  const theirs = await ask(method, `${id}${path}`, body, {}, other);
  const absent = await ask(method, `6f1e2d3c-4b5a-4968-8776-655443322110${path}`, body, {}, other);
  const none = await ask(method, `x${path}`, body, {}, other);
  for (const answer of [theirs, absent, none])
    expect([answer.status, answer.json]).toMatchObject([
      404,
      { detail: 'You have no such webhook: GET /webhooks lists yours.' },
    ]);
  expect(await stored()).toEqual(before);
});
