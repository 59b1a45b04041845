import { startRedisServer } from '@relay/testing';
import { startWebhooks, type Partner, type Webhooks } from './spec-webhooks.js';

const unknownId = '00000000-0000-4000-8000-000000000000';
const base = { eventType: 'task.created', endPointUrl: 'https://hooks.example.com/a' };
const valid = { ...base, apiKey: 'the-api-key' };

let app: Webhooks;
let partner: Partner;

beforeAll(async () => {
  app = await startWebhooks();
  partner = await app.aPartner();
});
afterAll(async () => {
  await app.stop();
});

describe('access', () => {
  const operations = [
    ['GET', ''],
    ['POST', ''],
    ['PUT', ''],
    ['DELETE', ''],
    ['GET', `/${unknownId}/secret`],
  ] as const;

  it.each(operations)('to %s /webhooks%s takes a partner’s token of scope webhooks', async (method, path) => {
    const before = await app.stored();
    const body = path === '' && method !== 'GET' ? valid : undefined;
    const none = await app.ask(method, `/webhooks${path}`, { body });
    expect(none).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer realm="relay"' } });
    for (const authorization of ['Bearer nonsense', `Bearer ${partner.token}x`]) {
      const wrong = await app.ask(method, `/webhooks${path}`, { body, headers: { authorization } });
      expect(wrong.status).toBe(401);
      expect(wrong.headers['www-authenticate']).toContain('error="invalid_token"');
    }
    const { token } = await app.aPartner('narrow', ['sessions']);
    expect(await app.ask(method, `/webhooks${path}`, { body, token })).toMatchObject({ status: 403 });
    expect(await app.stored()).toBe(before);
  });

  it('says which methods there are', async () => {
    const answer = await app.ask('PATCH', '/webhooks', { token: partner.token, body: valid });
    expect(answer).toMatchObject({ status: 405, headers: { allow: 'DELETE, GET, HEAD, POST, PUT' } });
  });
});

it('answers 503 while Redis is away, to every operation, and heals by itself', async () => {
  const cut = await startWebhooks();
  const { token } = await cut.aPartner();
  const id = await cut.ask('POST', '/webhooks', { token, body: { ...base, jwt: 'j' } });
  expect(id.status).toBe(201);
  await cut.server.stop();
  for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
    const answer = await cut.ask(method, '/webhooks', {
      token,
      ...(method === 'GET' ? {} : { body: { ...base, jwt: 'j' } }),
    });
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': expect.stringMatching(/^\d+$/) } });
  }
  const back = await startRedisServer(cut.server.port);
  let status = 503;
  const deadline = Date.now() + 10_000;
  while (status === 503 && Date.now() < deadline) ({ status } = await cut.ask('GET', '/webhooks', { token }));
  expect(status).toBe(200);
  await cut.stop();
  await back.stop();
});
