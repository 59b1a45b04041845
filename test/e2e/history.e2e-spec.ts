import { anEnvelope, type Client, type Json } from '../support/client.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { until } from '../support/until.js';

let stranger: Client;

startRelay({ RETRY_SCHEDULE: '1s,1h' });

beforeAll(async () => {
  stranger = await relay.partner();
});

const registration = (path: string, eventType: string) => ({
  eventType,
  endPointUrl: relay.receiver.url(path),
  apiKey: 'k',
});
const listed = async (webhookId: string, query = ''): Promise<readonly Json[]> =>
  (await partner.request('GET', `/webhooks/${webhookId}/deliveries${query}`)).json['deliveries'] ?? [];
const post = async (eventType: string): Promise<string> => {
  const envelope = { ...anEnvelope(), type: eventType };
  expect((await source.post(envelope)).status).toBe(202);
  return envelope.id;
};

describe('the story of a delivery', () => {
  it('is told with every attempt, to whom the webhook belongs', async () => {
    relay.receiver.decide('/second', ({ 'relay-attempt': attempt }) => ({ status: attempt === '1' ? 500 : 204 }));
    const webhookId = await partner.register(registration('/second', 'task.created'));
    const envelopeId = await post('task.created');
    const [delivery] = await until('it is told', async () => {
      const found = await listed(webhookId);
      return found.length === 1 && found[0]?.['status'] === ('delivered' as unknown) && found;
    });
    expect(delivery).toMatchObject({
      envelopeId,
      webhookId,
      status: 'delivered',
      nextAttemptAt: null,
      attempts: [{ status: 500, detail: expect.any(String) }, { status: 204 }],
    });
    const story = (await partner.request('GET', `/deliveries/${envelopeId}`)).json;
    expect(story).toMatchObject({
      id: envelopeId,
      eventType: 'task.created',
      acceptedAt: delivery?.['acceptedAt'],
      deliveries: [
        {
          webhookId,
          state: 'delivered',
          attempts: [
            { status: 500, outcome: 'retry' },
            { status: 204, outcome: 'delivered' },
          ],
        },
      ],
      incomplete: [],
    });
    expect((await stranger.request('GET', `/deliveries/${envelopeId}`)).status).toBe(404);
    expect((await partner.request('POST', `/deliveries/${envelopeId}/retry`)).status).toBe(409);
    const at = String(delivery?.['at']);
    expect((await stranger.request('POST', `/deliveries/${envelopeId}/retry`)).status).toBe(404);
    expect(await listed(webhookId, `?until=${at}`)).toEqual([]);
    expect(await listed(webhookId, `?since=${at}&status=delivered&limit=1`)).toHaveLength(1);
    expect(await listed(webhookId, '?status=dead')).toEqual([]);
  });

  it('says when a waiting delivery is attempted, and retry has that done now', async () => {
    let status = 503;
    relay.receiver.decide('/waits', () => ({ status }));
    const webhookId = await partner.register(registration('/waits', 'task.updated'));
    const envelopeId = await post('task.updated');
    const waiting = await until('two attempts have failed', async () => {
      const [found] = await listed(webhookId, '?status=waiting');
      return found?.['attempts']?.length === 2 && found['nextAttemptAt'] !== (null as unknown) && found;
    });
    expect(Date.parse(String(waiting['nextAttemptAt']))).toBeGreaterThan(Date.now() + 1_000_000);
    status = 204;
    const retry = await partner.request('POST', `/deliveries/${envelopeId}/retry`, { webhookId });
    expect([retry.status, retry.json]).toEqual([202, { retried: 1 }]);
    await until('it is delivered', async () => (await listed(webhookId, '?status=delivered')).length === 1);
    expect(relay.receiver.at('/waits').map(({ headers }) => headers['relay-attempt'])).toEqual(['1', '2', '3']);
  });

  it('says why a delivery is dead, and retry begins the schedule anew', async () => {
    let status = 410;
    relay.receiver.decide('/gone', () => ({ status }));
    const webhookId = await partner.register(registration('/gone', 'plan.created'));
    const envelopeId = await post('plan.created');
    const dead = await until('it is dead', async () => (await listed(webhookId, '?status=dead'))[0]);
    expect(dead).toMatchObject({ reason: 'gone', nextAttemptAt: null, attempts: [{ status: 410 }] });
    status = 204;
    const disabled = async (): Promise<boolean> =>
      (await partner.request('GET', `/webhooks/${webhookId}`)).json['status'] === ('disabled' as unknown);
    await until('its webhook is disabled', disabled);
    const refused = await partner.request('POST', `/deliveries/${envelopeId}/retry`);
    expect([refused.status, refused.json['detail']]).toEqual([409, 'Its webhook is disabled: enable it first.']);
    expect((await stranger.request('POST', `/deliveries/${envelopeId}/retry`, { webhookId })).status).toBe(404);
    expect((await partner.request('POST', `/webhooks/${webhookId}/enable`)).status).toBe(200);
    expect((await partner.request('POST', `/deliveries/${envelopeId}/retry`)).json).toEqual({ retried: 1 });
    await until('it is delivered', async () => (await listed(webhookId, '?status=delivered')).length === 1);
    expect(await listed(webhookId, '?status=dead')).toEqual([]);
    const [delivered] = await listed(webhookId);
    expect(delivered?.['attempts']).toMatchObject([{ status: 410 }, { status: 204 }]);
    const told = await relay.stack.topic('relay.operations').read();
    expect(told.map(({ value }) => JSON.parse(value.toString()) as Json)).toContainEqual(
      expect.objectContaining({ event: 'delivery.retried', partnerId: partner.clientId }),
    );
  });

  it('is not found of an envelope that never was, and a bad query is named', async () => {
    const id = '00000000-0000-4000-8000-000000000000';
    expect((await partner.request('GET', `/deliveries/${id}`)).status).toBe(404);
    expect((await partner.request('GET', '/deliveries/nonsense')).status).toBe(404);
    expect((await partner.request('POST', `/deliveries/${id}/retry`)).status).toBe(404);
    const bad = await partner.request('GET', `/webhooks/${id}/deliveries?status=lost&limit=0&since=now`);
    expect(bad.status).toBe(400);
    for (const name of ['status', 'limit', 'since']) expect(bad.text).toContain(name);
  });
});
