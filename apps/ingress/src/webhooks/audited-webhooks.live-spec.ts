import { setTimeout as delay } from 'node:timers/promises';
import { Keyring } from '@relay/keyring';
import { NoticeLines, Notices } from '@relay/notices';
import { PinoLog, ThrottledLog } from '@relay/telemetry';
import { MemoryPublisher, MemoryRegistryLog, memoryRegistry, redisOfSpec } from '@relay/testing';
import { WebhookStore, type WebhookDraft } from '@relay/webhooks';
import { AuditedWebhooks } from './webhooks.module.js';

const { redis } = await redisOfSpec();

const keyring = Keyring.parse(`k1:${Buffer.alloc(32, 1).toString('base64')}`);
const log = new ThrottledLog(new PinoLog('spec', 'silent'));
const until = async (isThere: () => boolean): Promise<void> => {
  for (let tries = 0; tries < 400 && !isThere(); tries += 1) await delay(5);
};
const eventType = 'task.created';
const draft: WebhookDraft = {
  eventType,
  endPointUrl: 'https://a.example',
  url: 'https://a.example/',
  origin: 'https://a.example',
  apiKey: 'k',
};

/** Who asks, by the link of an operator. */
const askedBy = { partnerId: 'p', operator: 'operator_1', requestId: 'r1' };

describe('a webhook that was disabled', () => {
  let told: unknown[];
  let registration: unknown[];
  let publisher: MemoryPublisher;
  let isAway: boolean;
  let store: WebhookStore;
  let id: string;
  beforeEach(async () => {
    await redis.flushall();
    [told, isAway, publisher] = [[], false, new MemoryPublisher()];
    publisher.createTopic('relay.notices');
    const reportChange = async (change: object): Promise<void> => {
      if (isAway) throw new Error('away');
      told.push({ ...change, ...askedBy });
    };
    const view = memoryRegistry(redis, new MemoryRegistryLog());
    const notices = new Notices(new NoticeLines(redis), publisher, '', log);
    const registry = new AuditedWebhooks(view, { reportChange }, { charge: () => Promise.resolve() }, notices, log);
    store = new WebhookStore(redis, registry, keyring, { perPartner: 5 });
    const registered = await store.register('p', draft);
    if (registered.kind !== 'created') throw new Error(registered.kind);
    ({ id } = registered);
    const { version = 0 } = (await store.find('p', id)) ?? {};
    await store.disable('p', id, 'gone', [version]);
    registration = told;
    told = [];
  });
  const record = (event: string, facts: object = {}) => ({ event, ...askedBy, webhookId: id, eventType, ...facts });
  const noticed = () =>
    publisher
      .read('relay.notices')
      .map(({ value }) => JSON.parse(value.toString()) as { type: string; payload: { id: string } });
  const notice = (type: string, facts: object) => ({ type, payload: { id, partnerId: 'p', eventType, ...facts } });
  const byRelay = () => notice('webhook.disabled', { reason: 'gone', origin: 'https://a.example' });
  const enabled = () => record('webhook.enabled', { disabledReason: 'gone' });
  const changed = (...members: string[]) => record('webhook.changed', { members });
  const replaced = () => ({
    ...changed('endPointUrl', 'credential', 'endPointDesc', 'endPointName'),
    origin: 'https://a.example',
  });

  it('was reported when it was registered', () => {
    expect(registration).toEqual([record('webhook.registered', { origin: 'https://a.example' })]);
  });

  it.each([
    ['enabled', () => store.enable('p', id), () => []],
    ['patched', () => store.patch('p', id, { apiKey: 'k2' }), () => [changed('credential')]],
    ['replaced', () => store.update('p', { ...draft, apiKey: 'k2' }, id), () => [replaced()]],
  ])('is reported once it is %s, and not again', async (_, change, before) => {
    for (let times = 0; times < 2; times += 1) expect(await change()).toMatchObject({ kind: 'updated' });
    expect(told).toEqual([...before(), enabled()]);
    await until(() => noticed().length > 1);
    expect(noticed()).toMatchObject([byRelay(), notice('webhook.enabled', { disabledReason: 'gone' })]);
  });

  it('is reported when its partner disables it, and not when the relay does', async () => {
    const url = 'https://a.example/2';
    const other = await store.register('p', { ...draft, endPointUrl: url, url });
    if (other.kind !== 'created') throw new Error(other.kind);
    await store.disable('p', other.id, 'partner');
    await until(() => noticed().length > 1);
    expect(noticed().at(-1)).toMatchObject({ type: 'webhook.disabled', payload: { id: other.id, reason: 'partner' } });
    told = [];
    await store.enable('p', id);
    const { version = 0 } = (await store.find('p', id)) ?? {};
    await store.disable('p', id, 'partner', [version]);
    expect(told).toEqual([enabled(), record('webhook.disabled', { reason: 'partner' })]);
  });

  it('is a notice to its partner when its secret is rotated', async () => {
    await store.rotateSecret('p', id);
    expect(told).toEqual([record('secret.rotated')]);
    await until(() => noticed().length > 1);
    expect(noticed()).toMatchObject([
      byRelay(),
      notice('secret.rotated', { oldSecretUntil: expect.stringMatching(/Z$/) }),
    ]);
  });

  it('is not reported after a refused or void change, and is enabled while Kafka takes no report', async () => {
    expect(await store.enable('p', id, [99])).toEqual({ kind: 'stale' });
    isAway = true;
    expect(await store.enable('p', id)).toMatchObject({ kind: 'updated' });
    expect((await store.find('p', id))?.details.status).toBe('active');
    expect(told).toEqual([]);
  });

  it('is neither changed, disabled nor deleted while Kafka takes no report, and no secret is rotated', async () => {
    await store.enable('p', id);
    const secret = await store.signingSecret('p', id);
    isAway = true;
    const url = 'https://a.example/3';
    for (const change of [
      () => store.register('p', { ...draft, endPointUrl: url, url }),
      () => store.patch('p', id, { endPointName: 'n' }),
      () => store.disable('p', id, 'partner'),
      () => store.rotateSecret('p', id),
      () => store.delete('p', eventType),
      () => store.remove('p', id),
    ])
      await expect(change()).rejects.toThrow('away');
    expect(await store.idsOf('p')).toEqual([id]);
    expect((await store.find('p', id))?.details).toMatchObject({ status: 'active', endPointName: null });
    expect(await store.signingSecret('p', id)).toBe(secret);
  });

  it('is named by the record of its deletion, also where the request names its event type alone', async () => {
    told = [];
    expect(await store.delete('p', eventType)).toMatchObject({ kind: 'deleted', id });
    expect(await store.delete('p', eventType)).toEqual({ kind: 'not-found' });
    expect(told).toEqual([record('webhook.deleted')]);
  });
});
