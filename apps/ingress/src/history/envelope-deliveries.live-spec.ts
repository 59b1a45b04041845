import { randomUUID } from 'node:crypto';
import { ShardHistory } from '@relay/history';
import { oneShard, onlyShard } from '@relay/redis';
import { BullmqRetryQueue } from '@relay/retry';
import { Redis } from 'ioredis';
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

describe('the story of an envelope', () => {
  it('is told of what Redis has while Kafka is away, which it names', async () => {
    const { token, clientId } = await relay.aPartner('waiting');
    const other = await relay.aPartner('other');
    const body = { eventType: 'plan.created', endPointUrl: 'https://hooks.example.com/story', apiKey: 'key-1' };
    const webhookId = String(Reflect.get((await relay.ask('POST', '/webhooks', { token, body })).json as object, 'id'));
    const [envelopeId, acceptedAt] = [randomUUID(), Date.now() - 60_000];
    const failed = { at: acceptedAt + 5, durationMs: 7, status: 503, detail: 'answered 503', answer: 'no room' };
    const delivered = { at: acceptedAt + 5_000, durationMs: 8, status: 204 };
    const line = { webhookId, envelopeId, acceptedAt, series: 0, attempts: [failed, delivered] };
    await new ShardHistory(onlyShard(relay.redis), 3_600_000).add([line]);
    const queue = new BullmqRetryQueue(oneShard(new Redis(relay.server.url(), { maxRetriesPerRequest: null })));
    const job = {
      v: 1 as const,
      webhookId,
      partnerId: clientId,
      envelopeId,
      eventType: 'plan.created',
      hash: '0123456789abcdef',
      series: 1_000,
      attempts: 1,
      acceptedAt: acceptedAt + 9_000,
      tries: [failed, delivered, { ...failed, at: acceptedAt + 10_000 }],
      body: '{}',
    };
    await queue.add({ job, at: Date.now() + 60_000 });
    await queue.close();
    const { status, json } = await relay.ask('GET', `/deliveries/${envelopeId}`, { token });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      id: envelopeId,
      eventType: 'plan.created',
      incomplete: ['kafka'],
      deliveries: [
        {
          webhookId,
          host: 'hooks.example.com',
          state: 'delivered',
          attempts: [
            { status: 503, answer: 'no room' },
            { status: 204, outcome: 'delivered' },
          ],
        },
        { webhookId, series: 1_000, state: 'waiting', waitsFor: 'schedule' },
      ],
    });
    expect(JSON.stringify(json)).not.toContain(clientId);
    for (const stranger of [other.token, token]) {
      const id = stranger === token ? randomUUID() : envelopeId;
      expect((await relay.ask('GET', `/deliveries/${id}`, { token: stranger })).status).toBe(404);
    }
  });
});
