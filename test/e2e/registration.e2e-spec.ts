import { EVENT_TYPES } from '@relay/events';
import { globalKey } from '@relay/redis';
import { anEnvelope } from '../support/client.js';
import { deadLettersIn } from '../support/dead-letters.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { until } from '../support/until.js';

const ROUNDS = 1_000;

startRelay({ RETRY_SCHEDULE: '1s,1s', WEBHOOK_CHANGES: '10000' });

const webhooks = async () => (await partner.request('GET', '/webhooks')).json;
/** Changes of registrations that were applied so far. */
const applied = async () => Number(await relay.stack.redis.get(globalKey('registry', 'version')));
const bodies = (path: string) => relay.receiver.at(path).map(({ body }) => body.toString());

/** Register, await the 201, post at once; delete when it is delivered, so that a round has no other webhook of its type. */
async function round(eventType: string, path: string): Promise<void> {
  const id = await partner.register({ eventType, endPointUrl: relay.receiver.url(path), apiKey: 'key' });
  const envelope = anEnvelope({ type: eventType });
  expect(await source.post(envelope)).toMatchObject({ status: 202 });
  await until(`${path} has its envelope`, () => relay.receiver.at(path).length > 0);
  expect(bodies(path)).toEqual([JSON.stringify(envelope)]);
  expect(await partner.request('DELETE', '/webhooks', { eventType, id })).toMatchObject({ status: 200 });
}

describe('a webhook that is registered', () => {
  it(`gets an envelope posted right after the 201, ${ROUNDS} times`, async () => {
    const rounds = Array.from({ length: ROUNDS }, (_, n) => n).values();
    const perType = EVENT_TYPES.map(async (type) => {
      for (const n of rounds) await round(type, `/round/${n}`);
    });
    await Promise.all(perType);
    expect(await webhooks()).toEqual([]);
  });

  it('50 times at once is registered once, and the others are told its id', async () => {
    const registration = { eventType: 'plan.created', endPointUrl: relay.receiver.url('/equal'), jwt: 'a.b.c' };
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => partner.request('POST', '/webhooks', registration)),
    );
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([201, ...Array.from({ length: 49 }, () => 409)]);
    expect(new Set(answers.map(({ json }) => json['id'])).size).toBe(1);
    expect(await webhooks()).toHaveLength(1);
    await partner.request('DELETE', '/webhooks', { eventType: 'plan.created' });
  });
});

describe('an update', () => {
  it('is never mixed with or undone by one of 199 others at the same moment', async () => {
    const eventType = 'plan.updated';
    const update = (n: number, url = `/update/${n}`) => ({
      eventType,
      endPointUrl: relay.receiver.url(url),
      endPointName: `name ${n}`,
      endPointDesc: `description ${n}`,
      apiKey: `key-${n}`,
    });
    const id = await partner.register(update(0));
    const versionBefore = await applied();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) => partner.request('PUT', '/webhooks', update(n + 1))),
    );
    expect(answers.map(({ status, json }) => [status, json['id']])).toEqual(answers.map(() => [200, id]));
    expect((await applied()) - versionBefore).toBe(200);

    const [left, ...others] = await webhooks();
    const n = Number(/\d+$/.exec(String(left?.['endPointName']))?.[0]);
    const { apiKey, ...shown } = update(n);
    expect([left, others]).toEqual([{ id, ...shown }, []]);
    await source.post(anEnvelope({ type: eventType }));
    const delivered = await until('the last update has its envelope', () => relay.receiver.at(`/update/${n}`)[0]);
    expect(delivered.headers['x-api-key']).toBe(apiKey);

    expect(await partner.request('PUT', '/webhooks', update(999, '/update/last'))).toMatchObject({ status: 200 });
    await source.post(anEnvelope({ type: eventType }));
    await until('what is updated next has the next one', () => relay.receiver.at('/update/last').length === 1);
  });

  it('takes effect on a delivery that waits: its next attempt goes to the new address with the new credential', async () => {
    const [eventType, old] = ['plan.completed', relay.receiver.url('/old')];
    relay.receiver.plan('/old', { status: 500 });
    await partner.register({ eventType, endPointUrl: old, apiKey: 'old-key' });
    const envelope = anEnvelope({ type: eventType });
    await source.post(envelope);
    await until('the first attempt has failed', () => relay.receiver.at('/old').length === 1);
    const endPointUrl = relay.receiver.url('/new');
    await partner.request('PUT', '/webhooks', { eventType, endPointUrl, userName: 'new', password: 'key' });
    const next = await until('the new address has it', () => relay.receiver.at('/new')[0]);
    expect(next.body.toString()).toBe(JSON.stringify(envelope));
    expect(next.headers).toMatchObject({ 'relay-attempt': '2', authorization: `Basic ${btoa('new:key')}` });
    expect(next.headers['x-api-key']).toBeUndefined();
    expect(relay.receiver.at('/old')).toHaveLength(1);
  });
});

describe('a delete', () => {
  it('takes effect on a delivery that waits: it ends as cancelled, and nothing is sent', async () => {
    const eventType = 'message.created';
    relay.receiver.plan('/deleted', { status: 500 });
    await partner.register({ eventType, endPointUrl: relay.receiver.url('/deleted'), apiKey: 'key' });
    const { id } = anEnvelope();
    await source.post(anEnvelope({ id, type: eventType }));
    await until('the first attempt has failed', () => relay.receiver.at('/deleted').length === 1);
    expect(await partner.request('DELETE', '/webhooks', { eventType })).toMatchObject({ status: 200 });
    const seen = async () => (await relay.stack.relay('deliveries', 'get', id)) as { deliveries: { state: string }[] };
    await until('it is shown as cancelled', async () => (await seen()).deliveries[0]?.state === 'cancelled', { seen });
    expect(relay.receiver.at('/deleted')).toHaveLength(1);
    expect(await deadLettersIn(relay.stack.shards)).toEqual([]);
  });
});
