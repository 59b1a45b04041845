import { NOTICE_TYPES, type NoticeType } from '@relay/events';
import { Webhook } from 'standardwebhooks';
import { anEnvelope, type Client, type Json } from '../support/client.js';
import { deadLettersIn } from '../support/dead-letters.js';
import { NoticeAddresses, payloadOf } from '../support/notice-addresses.js';
import { Receiver, type Received } from '../support/receiver.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { until } from '../support/until.js';

const DAY_MS = 86_400_000;
/** What the tests of this file wait for at most; the relay promises no time. */
const SOON = { withinMs: 10_000 };

let stranger: Client;
/** Endpoints with trouble. */
let endpoint: Receiver;
let addresses: NoticeAddresses;

startRelay({ RETRY_SCHEDULE: '1s,1s,1s,1s,1s,1s,1s,1s,1s', WEBHOOK_QUEUE_LIMIT: '20' }, () => endpoint.close());

beforeAll(async () => {
  endpoint = await Receiver.open();
  stranger = await relay.partner('stranger');
  addresses = await NoticeAddresses.register(partner, relay.receiver);
  for (const eventType of NOTICE_TYPES)
    await stranger.register({ eventType, endPointUrl: relay.receiver.url('/stranger'), apiKey: 'key' });
});

const register = (client: Client, eventType: string, path: string): Promise<string> =>
  client.register({ eventType, endPointUrl: endpoint.url(path), apiKey: 'key' });
const post = async (type: string): Promise<void> =>
  expect((await source.post(anEnvelope({ type }))).status).toBe(202) as undefined;
const change = async (path: string): Promise<void> =>
  expect((await partner.request('POST', path)).status).toBe(200) as undefined;
const disabledReason = async (id: string): Promise<unknown> =>
  (await partner.request('GET', `/webhooks/${id}`)).json['disabledReason'];
const got = (type: NoticeType, webhook: string): Received[] => addresses.got(type, webhook);
const arrived = (type: NoticeType, webhook: string): Promise<Json> => addresses.arrived(type, webhook, SOON.withinMs);
const records = async () =>
  (await relay.stack.topic('relay.notices').read()).map(({ value, headers }) => ({
    partner: String(headers?.['relay-partner']),
    notice: JSON.parse(value.toString()) as { id: string; type: string; payload: { id: string } },
  }));

describe('a notice', () => {
  it('about a disabled webhook arrives signed at the address of its partner, once an hour, and nowhere else', async () => {
    const id = await register(partner, 'task.created', '/gone');
    endpoint.plan('/gone', { status: 410 });
    await post('task.created');
    const notice = await arrived('webhook.disabled', id);
    expect(notice).toMatchObject({ id, eventType: 'task.created', origin: new URL(endpoint.url('/')).origin });
    expect(notice).toMatchObject({ reason: 'gone', message: expect.stringContaining('answered 410') });

    const [received] = got('webhook.disabled', id) as [Received];
    const secret = await partner.request('GET', `/webhooks/${addresses.ids.get('webhook.disabled')}/secret`);
    const headers = received.headers as Record<string, string>;
    expect(new Webhook(String(secret.json['secret'])).verify(received.body.toString(), headers)).toMatchObject({
      type: 'webhook.disabled',
      payload: { id },
    });
    expect(received.headers).toMatchObject({ 'relay-event-type': 'webhook.disabled', 'x-api-key': 'key' });

    await change(`/webhooks/${id}/enable`);
    expect(await arrived('webhook.enabled', id)).toMatchObject({ disabledReason: 'gone' });
    // Another process than the worker would tell it now: it waits until the hour is over.
    await change(`/webhooks/${id}/disable`);
    const told = async () => (await records()).filter(({ notice: each }) => each.payload.id === id);
    // It would be in the same partition before it.
    await change(`/webhooks/${id}/secret/rotate`);
    expect(await arrived('secret.rotated', id)).toMatchObject({ oldSecretUntil: expect.stringMatching(/Z$/) });
    expect((await told()).filter(({ notice: { type } }) => type === 'webhook.disabled')).toHaveLength(1);
    const letters = await deadLettersIn(relay.stack.shards);
    expect(letters.filter(({ eventType }) => eventType === 'webhook.disabled')).toEqual([]);
    expect(new Set((await told()).map(({ partner: name }) => name))).toEqual(
      new Set([`operators,${partner.clientId}`]),
    );
    expect(relay.receiver.at('/stranger')).toEqual([]);
  });

  it('is never about a webhook of notices', async () => {
    const id = await register(partner, 'secret.rotated', '/own');
    endpoint.plan('/own', { status: 410 });
    const other = await register(partner, 'plan.created', '/fence');
    await change(`/webhooks/${other}/secret/rotate`);
    await until('its endpoint answers 410', () => endpoint.at('/own').length > 0, SOON);
    await until('it is disabled', async () => (await disabledReason(id)) === 'gone', SOON);
    await change(`/webhooks/${id}/enable`);
    await change(`/webhooks/${id}/secret/rotate`);
    await change(`/webhooks/${id}/disable`);
    await change(`/webhooks/${other}/disable`);
    expect(await arrived('webhook.disabled', other)).toMatchObject({ reason: 'partner' });
    expect((await records()).filter(({ notice }) => notice.payload.id === id)).toEqual([]);
  });

  it('about the webhooks of all partners arrives at an address of operators', async () => {
    const url = relay.receiver.url('/operators');
    const added = (await relay.stack.relay('notices', 'add', url, '--type', 'webhook.disabled')) as Json;
    expect(added).toMatchObject([{ eventType: 'webhook.disabled', secret: expect.stringMatching(/^whsec_/) }]);
    await expect(relay.stack.relay('notices', 'add', url, '--type', 'webhook.disabled')).resolves.toEqual([]);
    await expect(relay.stack.relay('notices', 'add', 'https://10.1.2.3/')).rejects.toThrow(/public address/);
    const ids = [
      await register(partner, 'recommendation.created', '/fence'),
      await register(stranger, 'recommendation.created', '/fence'),
    ];
    await relay.stack.relay('webhooks', 'disable', ...ids);
    const at = () => relay.receiver.at('/operators');
    await until('both arrive', () => at().length >= 2, SOON);
    const [client] = [partner, stranger].map(({ clientId }) => clientId);
    expect(new Set(at().map((received) => payloadOf(received)['id']))).toEqual(new Set(ids));
    expect(at().map((received) => payloadOf(received)['partnerId'])).toContain(client);
    const [{ body, headers }] = at() as [Received];
    const webhook = new Webhook(String(added[0]?.['secret']));
    expect(webhook.verify(body.toString(), headers as Record<string, string>)).toMatchObject({
      type: 'webhook.disabled',
    });
    expect(headers['x-api-key']).toBe(added[0]?.['apiKey']);
  });

  it('follows an operator who disables a webhook', async () => {
    const id = await register(partner, 'plan.completed', '/fence');
    await relay.stack.relay('webhooks', 'disable', id);
    expect(await arrived('webhook.disabled', id)).toMatchObject({ reason: 'operator' });
  });

  it('follows the end of a replay', async () => {
    const id = await register(partner, 'plan.updated', '/again');
    await post('plan.updated');
    await until('it is delivered', () => endpoint.at('/again').length === 1);
    const { json } = await partner.request('POST', `/webhooks/${id}/replay`, {});
    expect(await arrived('replay.finished', id)).toMatchObject({
      replayId: json['id'],
      state: 'done',
      done: 1,
      failed: 0,
    });
  });

  it('follows when a webhook is parked', async () => {
    const id = await register(partner, 'message.created', '/away');
    endpoint.plan('/away', { status: 500 });
    await until(
      'it is parked',
      async () => {
        await Promise.all(Array.from({ length: 5 }, () => post('message.created')));
        return got('webhook.parked', id).length > 0;
      },
      { withinMs: 60_000 },
    );
    expect(Number((await arrived('webhook.parked', id))['waiting'])).toBeGreaterThanOrEqual(20);
  });

  it('warns of a webhook that does nothing but fail', async () => {
    const endPointUrl = (await endpoint.anotherOrigin())('/fails');
    const id = await partner.register({ eventType: 'tax_return.filed', endPointUrl, apiKey: 'key' });
    endpoint.plan('/fails', { status: 500 });
    await post('tax_return.filed');
    const { redis } = relay.stack;
    await until('its failures are counted', async () => (await redis.hexists('{relay:0}:failing', id)) === 1);
    const [, version = ''] = (await redis.hget('{relay:0}:failing', id))?.split(' ') ?? [];
    await redis.hset('{relay:0}:failing', id, `${Date.now() - 3 * DAY_MS} ${version}`);
    expect(await arrived('webhook.failing', id)).toMatchObject({ percent: 50 });
  });

  it('is a type that no source can send, in a batch neither', async () => {
    const { payload } = (await records())[0]?.notice ?? {};
    const envelope = anEnvelope({ type: 'webhook.disabled', payload: { ...payload } });
    expect((await source.post(envelope)).status).toBe(400);
    const batch = await source.request('POST', '/deliveries/batch', [envelope]);
    expect(batch.json['results']).toMatchObject([{ status: 'invalid', errors: [{ pointer: '/type' }] }]);
  });
});
