import { randomUUID } from 'node:crypto';
import { startWebhooks, type Webhooks } from '../webhooks/spec-webhooks.js';
import { HistoryModule } from './history.module.js';

let relay: Webhooks;
beforeAll(async () => {
  relay = await startWebhooks({ WEBHOOKS_PER_ORIGIN: '1000' }, [HistoryModule]);
});
afterAll(() => relay.stop());

describe('a look at an envelope', () => {
  it('counts once for each hundred webhooks it is looked for at', async () => {
    const { token } = await relay.aPartner('many');
    for (let n = 0; n < 101; n += 1) {
      const body = { eventType: 'task.created', endPointUrl: `https://hooks.example.com/${n}`, apiKey: 'key-1' };
      expect((await relay.ask('POST', '/webhooks', { token, body })).status).toBe(201);
    }
    const statuses = new Map<number, number>();
    for (let n = 0; n < 303; n += 1) {
      const { status } = await relay.ask('GET', `/deliveries/${randomUUID()}`, { token });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect(Object.fromEntries(statuses)).toEqual({ 404: 300, 429: 3 });
  });
});
