import { Keyring } from '@relay/keyring';
import { PinoLog, ThrottledLog } from '@relay/telemetry';
import { MemoryRegistryLog, memoryRegistry, redisOfSpec } from '@relay/testing';
import { RedisWebhookStore, type WebhookCommand, type WebhookDraft } from '@relay/webhooks';
import { AuditedWebhooks } from './audited-webhooks.js';

const { redis } = await redisOfSpec();

const keyring = Keyring.parse(`k1:${Buffer.alloc(32, 1).toString('base64')}`);
const log = new ThrottledLog(new PinoLog('spec', 'silent'));
const eventType = 'task.created';
const draft: WebhookDraft = {
  eventType,
  endPointUrl: 'https://a.example',
  url: 'https://a.example/',
  origin: 'https://a.example',
  apiKey: 'k',
} as WebhookDraft;

describe('a webhook that was disabled', () => {
  let told: unknown[];
  let isAway: boolean;
  let store: RedisWebhookStore;
  let id: string;
  beforeEach(async () => {
    await redis.flushall();
    [told, isAway] = [[], false];
    const report = async (change: unknown): Promise<void> => {
      if (isAway) throw new Error('away');
      told.push(change);
    };
    const view = memoryRegistry(redis, new MemoryRegistryLog()).of<WebhookCommand>('webhook');
    const registry = new AuditedWebhooks(view, { report }, log, { charge: () => Promise.resolve() });
    store = new RedisWebhookStore(redis, registry, keyring, { perPartner: 5 });
    const registered = await store.register('p', draft);
    if (registered.kind !== 'created') throw new Error(registered.kind);
    ({ id } = registered);
    const { version = 0 } = (await store.find('p', id)) ?? {};
    await store.disable('p', id, 'gone', version);
  });
  const enabled = () => ({
    event: 'webhook.enabled',
    partnerId: 'p',
    webhookId: id,
    eventType,
    disabledReason: 'gone',
  });

  it.each([
    ['enabled', () => store.enable('p', id)],
    ['patched', () => store.patch('p', id, { endPointName: 'n' })],
    ['replaced', () => store.update('p', draft, id)],
  ])('is reported once it is %s, and not again', async (_, change) => {
    expect(told).toEqual([]);
    for (let times = 0; times < 2; times += 1) expect(await change()).toMatchObject({ kind: 'updated' });
    expect(told).toEqual([enabled()]);
  });

  it('is reported when its partner disables it, and not when the relay does', async () => {
    await store.enable('p', id);
    const { version = 0 } = (await store.find('p', id)) ?? {};
    await store.disable('p', id, 'partner', version);
    const { disabledReason: _, ...facts } = enabled();
    expect(told).toEqual([enabled(), { ...facts, event: 'webhook.disabled', reason: 'partner' }]);
  });

  it('is not reported after a refused or void change, and is enabled while Kafka takes no report', async () => {
    expect(await store.enable('p', id, 99)).toEqual({ kind: 'stale' });
    expect(await store.rotateSecret('p', id)).toMatch(/^whsec_/);
    isAway = true;
    expect(await store.enable('p', id)).toMatchObject({ kind: 'updated' });
    expect((await store.find('p', id))?.details.status).toBe('active');
    expect(told).toEqual([]);
  });
});
