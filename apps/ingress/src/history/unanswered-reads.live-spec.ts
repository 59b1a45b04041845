import { randomUUID } from 'node:crypto';
import { startWebhooks, type Partner, type Webhooks } from '../webhooks/spec-webhooks.js';
import { HistoryModule } from './history.module.js';

let relay: Webhooks;
let partner: Partner;
beforeAll(async () => {
  relay = await startWebhooks({}, [HistoryModule]);
  partner = await relay.aPartner();
  const body = { eventType: 'task.created', endPointUrl: 'https://hooks.example.com/a', apiKey: 'key-1' };
  await relay.ask('POST', '/webhooks', { token: partner.token, body });
});
afterAll(() => relay.stop());

it.each(['', '/payload'])('an unknown envelope is not found within 50 ms: GET /deliveries/{id}%s', async (path) => {
  const times: number[] = [];
  for (let n = 0; n < 20; n += 1) {
    const begin = performance.now();
    const { status } = await relay.ask('GET', `/deliveries/${randomUUID()}${path}`, { token: partner.token });
    times.push(performance.now() - begin);
    expect(status).toBe(404);
  }
  // The fastest: other suites use the same processors.
  expect(Math.min(...times)).toBeLessThan(50);
});

it('reads and retries are answered 503 while Redis is away', async () => {
  await relay.server.stop();
  const id = randomUUID();
  const asked: [string, string, object?][] = [
    ['GET', '/deliveries'],
    ['GET', `/deliveries/${id}`],
    ['GET', `/deliveries/${id}/payload`],
    ['GET', '/webhooks/status'],
    ['POST', '/deliveries/retry', { status: 'waiting' }],
  ];
  for (const [method, path, body] of asked) {
    const { status, headers } = await relay.ask(method, path, { token: partner.token, body });
    expect([method, path, status, headers['retry-after']]).toEqual([method, path, 503, '2']);
  }
});
