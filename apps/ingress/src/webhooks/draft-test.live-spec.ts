import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { startWebhooks, type Answer, type Partner, type Webhooks } from './spec-webhooks.js';

let relay: Webhooks;
let endpoint: Server;
const received: { url: string | undefined; headers: IncomingHttpHeaders; body: string }[] = [];
let status = 204;

beforeAll(async () => {
  endpoint = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => {
        received.push({ url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString() });
        const said = JSON.stringify(request.headers);
        response.writeHead(status, { 'content-type': 'text/plain' }).end(status === 204 ? '' : said);
      });
  });
  // On every address of this machine, of which the relay may reach one.
  await new Promise<void>((resolve) => void endpoint.listen(0, '0.0.0.0', resolve));
  relay = await startWebhooks({ EGRESS_ALLOW_HTTP: 'true', EGRESS_ALLOW_CIDRS: '127.0.0.2/32' });
});
afterAll(async () => {
  await relay?.stop();
  endpoint?.close();
});
beforeEach(() => {
  status = 204;
  received.length = 0;
});

const urlAt = (host: string, path = '/hooks'): string =>
  `http://${host}:${(endpoint.address() as AddressInfo).port}${path}`;
const draft = (more: object = { apiKey: 'key-of-the-endpoint' }): object => ({
  eventType: 'plan.updated',
  endPointUrl: urlAt('127.0.0.2'),
  ...more,
});
const test = (partner: Partner, body: unknown): Promise<Answer> =>
  relay.ask('POST', '/webhooks/test', { token: partner.token, body });
const secretIn = ({ json }: Answer): string => (json as { secret: string }).secret;

describe('POST /webhooks/test', () => {
  it.each([
    ['x-api-key', { apiKey: 'key-of-the-endpoint' }, 'key-of-the-endpoint'],
    ['authorization', { jwt: 'a.b.c' }, 'Bearer a.b.c'],
    ['authorization', { userName: 'bob', password: 'secret word' }, 'Basic Ym9iOnNlY3JldCB3b3Jk'],
  ])('sends a sample with the credential in %s, which the secret of the answer verifies', async (name, given, sent) => {
    const partner = await relay.aPartner();
    const answers = [await test(partner, draft(given)), await test(partner, draft(given))];
    expect(answers.map((answer) => [answer.status, answer.json])).toMatchObject(
      answers.map(() => [200, { delivered: true, status: 204 }]),
    );
    expect(received).toHaveLength(2);
    for (const [index, { url, headers, body }] of received.entries()) {
      expect([url, headers]).toMatchObject(['/hooks', { [name]: sent, 'relay-test': 'true', 'relay-attempt': '1' }]);
      const secret = secretIn(answers[index] as Answer);
      expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({
        id: headers['webhook-id'],
        type: 'plan.updated',
      });
    }
    const [first, second] = answers.map(secretIn);
    expect(first).not.toBe(second);
  });

  it('makes no webhook, keeps no secret, and shows none that the endpoint says back', async () => {
    status = 401;
    const partner = await relay.aPartner();
    const before = await relay.stored();
    const answer = await test(partner, draft());
    expect([answer.status, answer.json]).toMatchObject([200, { delivered: false, status: 401 }]);
    expect(answer.text).not.toContain('key-of-the-endpoint');
    expect(answer.json).toMatchObject({ answer: 'left out: it repeats a credential' });
    expect(await relay.stored()).toBe(before);
    expect((await relay.ask('GET', '/webhooks', { token: partner.token })).json).toEqual([]);
    const values = await Promise.all((await relay.redis.keys('*')).map((key) => relay.redis.dumpBuffer(key)));
    const all = Buffer.concat(values.map((value) => value ?? Buffer.alloc(0))).toString('latin1');
    for (const secret of ['key-of-the-endpoint', secretIn(answer)]) expect(all).not.toContain(secret);
  });

  it.each([
    ['an address that is not allowed', { endPointUrl: 'http://127.0.0.1/' }, '/endPointUrl'],
    ['one of a cloud', { endPointUrl: 'http://169.254.169.254/' }, '/endPointUrl'],
    ['a local name', { endPointUrl: 'http://localhost/' }, '/endPointUrl'],
    ['one of another scheme', { endPointUrl: 'ftp://127.0.0.2/' }, '/endPointUrl'],
    ['two credentials', { jwt: 'a.b.c' }, ''],
    ['an event type that there is not', { eventType: 'no.such' }, '/eventType'],
  ])('refuses %s and sends nothing', async (_name, more, pointer) => {
    const answer = await test(await relay.aPartner(), { ...draft(), ...more });
    expect([answer.status, answer.json]).toMatchObject([
      400,
      { errors: expect.arrayContaining([{ pointer, detail: expect.any(String) }]) },
    ]);
    expect(received).toEqual([]);
  });

  it('is limited to six a minute of a partner, whatever the addresses, and is counted with the tests of its webhooks', async () => {
    const partner = await relay.aPartner();
    const drafts: Answer[] = [];
    for (let n = 0; n < 7; n += 1)
      drafts.push(await test(partner, { ...draft(), endPointUrl: urlAt('127.0.0.2', `/${n}`) }));
    expect(drafts.map((answer) => answer.status)).toEqual([200, 200, 200, 200, 200, 200, 429]);
    expect(drafts[6]).toMatchObject({
      headers: { 'ratelimit-policy': '"draft-test";q=6;w=60', 'retry-after': expect.any(String) },
      json: { detail: 'Endpoints without a webhook have been tested too often for now.' },
    });
    expect(received).toHaveLength(6);
    const { token } = partner;
    const counts = { 200: 0, 429: 0 };
    for (let webhook = 0; webhook < 10; webhook += 1) {
      const body = { ...draft(), endPointUrl: urlAt('127.0.0.2', `/saved/${webhook}`) };
      const { json } = await relay.ask('POST', '/webhooks', { token, body });
      const path = `/webhooks/${(json as { id: string }).id}/test`;
      for (let n = 0; n < 6; n += 1) counts[(await relay.ask('POST', path, { token })).status as 200 | 429] += 1;
    }
    expect(counts).toEqual({ 200: 54, 429: 6 });
    expect((await test(await relay.aPartner('another'), draft())).status).toBe(200);
  });
});
