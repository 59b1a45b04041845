import { setTimeout as delay } from 'node:timers/promises';
import { OperationsRecord } from '@relay/events';
import { anEnvelope, type Json } from '../support/client.js';
import { Receiver } from '../support/receiver.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { tally } from '../support/tally.js';
import { until } from '../support/until.js';

const DAY_MS = 86_400_000;

startRelay({ RETRY_SCHEDULE: '1s,1s,1s,1s,1s,1s,1s,1s,1s', WEBHOOK_QUEUE_LIMIT: '20' });

async function post(count: number, type: string): Promise<Set<string>> {
  const ids = new Set<string>();
  while (ids.size < count) {
    const envelopes = Array.from({ length: Math.min(50, count - ids.size) }, () => anEnvelope({ type }));
    for (const { status } of await Promise.all(envelopes.map((envelope) => source.post(envelope))))
      expect(status).toBe(202);
    for (const { id } of envelopes) ids.add(id);
  }
  return ids;
}
const details = async (id: string): Promise<Json> => (await partner.request('GET', `/webhooks/${id}`)).json;
const statusOf = async (id: string): Promise<string> => String((await details(id))['status']);
const enable = async (id: string): Promise<void> => {
  expect((await partner.request('POST', `/webhooks/${id}/enable`)).status).toBe(200);
};
const figure = async (name: string): Promise<number> =>
  Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)`, 'm').exec(await relay.worker.metrics())?.[1]);
/** Of several shards each has a share of the offsets that all pass. */
const estimateError = (): number => (relay.stack.shards.all.length === 1 ? 0 : 5 * relay.stack.shards.all.length);
const told = async (webhookId: string): Promise<Record<string, unknown>[]> => {
  const records = await relay.stack.topic('relay.operations').read();
  const events = records.map(({ value }) => OperationsRecord.parse(JSON.parse(value.toString())));
  const of = events.filter((event) => event.webhookId === webhookId && event.event.startsWith('webhook.'));
  return of.filter(({ event }) => event !== 'webhook.registered');
};

describe('a webhook over its queue limit', () => {
  it('is parked: what comes for it waits in the log while others get theirs, and is delivered when it answers again', async () => {
    const [endpoint, healthy] = [await Receiver.open(), await Receiver.open()];
    const type = 'plan.updated';
    const id = await partner.register({ eventType: type, endPointUrl: endpoint.url('/away'), apiKey: 'key' });
    await partner.register({ eventType: type, endPointUrl: healthy.url('/well'), apiKey: 'key' });
    endpoint.plan('/away', { status: 500 });
    const sent = new Set<string>();
    // Decided when a record is read, by what waits then.
    await until('it is parked', async () => {
      for (const more of await post(5, type)) sent.add(more);
      return (await statusOf(id)) === 'parked';
    });
    for (const more of await post(300, type)) sent.add(more);
    await until('the other one has all of them', () => tally(sent, healthy.delivered('/well')).lost === 0);
    // A quarter of a second's worth more than the limit: so often is it counted.
    expect(Number((await details(id))['waiting'])).toBeLessThanOrEqual(100);
    expect(await figure('relay_parked_deliveries')).toBeGreaterThan(200);
    expect(await figure('relay_webhooks_parked')).toBe(1);

    endpoint.plan('/away', { status: 204 });
    const counts = () => tally(sent, endpoint.delivered('/away'));
    await until('it has all of them', () => counts().lost === 0, { withinMs: 120_000, seen: counts });
    await until('it is active', async () => (await statusOf(id)) === 'active');
    const live = await post(20, type);
    await until('it gets what comes', () => tally(live, endpoint.delivered('/away')).lost === 0);
    expect(counts().duplicates).toBe(0);
    expect(await figure('relay_parked_deliveries')).toBe(0);
    await Promise.all([endpoint.close(), healthy.close()]);
  });
});

describe('a webhook whose endpoint answers 410', () => {
  it('is disabled, says so, and gets all that came meanwhile after an update, though the worker is killed at it', async () => {
    const endpoint = await Receiver.open();
    const registration = { eventType: 'tax_return.filed', endPointUrl: endpoint.url('/gone'), apiKey: 'key' };
    const id = await partner.register(registration);
    endpoint.plan('/gone', { status: 410 });
    await post(1, 'tax_return.filed');
    await until('it is disabled', async () => (await statusOf(id)) === 'disabled');
    expect(await details(id)).toMatchObject({ disabledReason: 'gone', waiting: 0 });
    await until('that is told', async () => (await told(id)).length > 0);
    expect(await told(id)).toEqual([expect.objectContaining({ event: 'webhook.disabled', reason: 'gone' })]);

    const attempts = endpoint.at('/gone').length;
    const sent = await post(600, 'tax_return.filed');
    await until(
      'all of it waits in the log',
      async () => Math.abs((await figure('relay_parked_deliveries')) - 600) <= estimateError(),
    );
    expect(endpoint.at('/gone')).toHaveLength(attempts);
    const waiting = relay.stack.shards.all.map((shard) => shard.redis.hlen(shard.key('waiting', id)));
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([0]));

    endpoint.plan('/gone', { status: 204, delayMs: 5 });
    expect((await partner.request('PUT', '/webhooks', { ...registration, apiKey: 'new' })).status).toBe(200);
    await until('it is being caught up', () => endpoint.delivered('/gone').length > 200);
    await relay.worker.kill();
    relay.worker.start();
    const counts = () => tally(sent, endpoint.delivered('/gone'));
    await until('it has all of it', () => counts().lost === 0, { withinMs: 90_000, seen: counts });
    // What ran, and what was answered beyond the cursor of the last flush.
    expect(counts().duplicates).toBeLessThanOrEqual(128);
    await until('it is active', async () => (await statusOf(id)) === 'active');
    expect(
      new Set(
        endpoint
          .at('/gone')
          .slice(attempts)
          .map(({ headers }) => headers['x-api-key']),
      ),
    ).toEqual(new Set(['new']));
    await endpoint.close();
  });
});

describe('a webhook that does nothing but fail', () => {
  /** Moves its first failure so many days back; the version of the registration stays. */
  const failingSince = async (id: string, days: number): Promise<void> => {
    const [, version = ''] = (await relay.stack.redis.hget('{relay:0}:failing', id))?.split(' ') ?? [];
    await relay.stack.redis.hset('{relay:0}:failing', id, `${Date.now() - days * DAY_MS} ${version}`);
  };

  it('is warned of, disabled after five days of it, and gets what came meanwhile when it is enabled', async () => {
    const endpoint = await Receiver.open();
    const type = 'message.created';
    const id = await partner.register({ eventType: type, endPointUrl: endpoint.url('/fails'), apiKey: 'key' });
    endpoint.plan('/fails', { status: 500 });
    await post(1, type);
    await until(
      'its failures are counted',
      async () => (await relay.stack.redis.hexists('{relay:0}:failing', id)) === 1,
    );
    await failingSince(id, 4.6);
    await delay(1_500); // each worker reads them every second
    const sent = await post(1, type);
    await until('it is warned of', async () => (await told(id)).length > 0);
    expect(await told(id)).toEqual([expect.objectContaining({ event: 'webhook.failing', percent: 90 })]);
    await failingSince(id, 5.01);
    await delay(1_500);
    for (const each of await post(1, type)) sent.add(each);
    await until('it is disabled', async () => (await statusOf(id)) === 'disabled');
    expect(await details(id)).toMatchObject({ disabledReason: 'failing' });
    await until('that is told', async () => (await told(id)).length === 2);
    const parked = await post(30, type);

    endpoint.plan('/fails', { status: 204 });
    await enable(id);
    const counts = () => tally(parked, endpoint.delivered('/fails'));
    await until('it has all of it', () => counts().lost === 0, { seen: counts });
    expect(counts().duplicates).toBe(0);
    await endpoint.close();
  });
});

it('the worker forgets what waits for a webhook that is deleted', async () => {
  const endpoint = await Receiver.open();
  const id = await partner.register({ eventType: 'plan.created', endPointUrl: endpoint.url('/left'), apiKey: 'key' });
  endpoint.plan('/left', { status: 410 });
  await post(1, 'plan.created');
  await until('it is disabled', async () => (await statusOf(id)) === 'disabled');
  await post(10, 'plan.created');
  await until('something waits for it', () => relay.stack.isParked(id));
  expect((await partner.request('DELETE', `/webhooks/${id}`)).status).toBe(204);
  await until('nothing waits for it', async () => !(await relay.stack.isParked(id)));
  expect(endpoint.at('/left')).toHaveLength(1);
  await endpoint.close();
});
