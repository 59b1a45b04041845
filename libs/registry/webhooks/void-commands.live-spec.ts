import { once } from 'node:events';
import { Keyring } from '@relay/keyring';
import { memoryRegistry, MemoryRegistryLog, redisOfSpec } from '@relay/testing';
import { WebhookStore, type WebhookCommand } from './index.js';
import type { WebhookDraft } from './webhook-changes.js';

const { redis } = await redisOfSpec();

const keyring = Keyring.parse(`k1:${Buffer.alloc(32, 1).toString('base64')}`);
const url = 'https://e.example/';
const members = { endPointUrl: url, url, origin: 'https://e.example', apiKey: 'key' };
const draft: WebhookDraft = { eventType: 'task.created', endPointName: 'n', ...members };

let log: MemoryRegistryLog;
let store: WebhookStore;

beforeAll(async () => {
  await once(redis, 'ready');
});
beforeEach(async () => {
  await redis.flushdb();
  log = new MemoryRegistryLog();
  const registry = memoryRegistry(redis, log).of<WebhookCommand>('webhook');
  store = new WebhookStore(redis, registry, keyring, { perPartner: 5 });
});

const register = async (): Promise<string> => {
  const result = await store.register('p', draft);
  if (result.kind !== 'created') throw new Error(result.kind);
  return result.id;
};
/** In the log, and not in Redis: its sender died in between, or its answer was lost. */
const unapplied = async (command: object): Promise<void> => {
  const [first] = log.commands;
  const {
    id: _1,
    command: _2,
    ...rest
  } = JSON.parse(String(first ?? '{"v":1,"entity":"webhook"}')) as {
    id: string;
    command: object;
  };
  await log.append('x', Buffer.from(JSON.stringify({ ...rest, id: crypto.randomUUID(), command })));
};
const anUpdate = (id: string, changes: object): object => ({
  kind: 'update',
  partnerId: 'p',
  eventType: 'task.created',
  id,
  only: false,
  at: 5,
  changes,
});

describe('a change that a read shows to be void', () => {
  it('is made if another change is under way, because the read does not show that change', async () => {
    const id = await register();
    await unapplied(anUpdate(id, { endPointName: 'of a sender that died' }));
    expect(await store.patch('p', id, { endPointName: 'n' })).toEqual({ kind: 'updated', id, version: 3 });
    await unapplied(anUpdate(id, { endPointName: 'of another one' }));
    expect(await store.update('p', draft, id)).toEqual({ kind: 'updated', id, version: 5 });
    expect((await store.list('p', { limit: 1 })).records).toMatchObject([{ endPointName: 'n' }]);
  });

  it('is not refused for want of a webhook whose registration is under way', async () => {
    const id = await register();
    const [registration] = log.commands.map((each) => (JSON.parse(String(each)) as { command: object }).command);
    await store.delete('p', 'task.created');
    await unapplied(registration ?? {});
    expect(await store.delete('p', 'task.created')).toMatchObject({ kind: 'deleted', id });
    await unapplied(registration ?? {});
    expect(await store.remove('p', id)).toMatchObject({ kind: 'deleted', id });
    await unapplied(registration ?? {});
    expect(await store.update('p', { ...draft, endPointName: 'm' })).toMatchObject({ kind: 'updated', id });
  });

  it('is refused as any other while the log cannot be read', async () => {
    const id = await register();
    log.failure = new Error('Kafka is away');
    await expect(store.enable('p', id)).rejects.toMatchObject({ name: 'RegistryUnavailable', mayBeStored: false });
    await expect(store.delete('p', 'plan.created')).rejects.toMatchObject({ mayBeStored: false });
  });

  it('is not made, but one that changes something is: a text removed, a disabled webhook enabled, another credential', async () => {
    const id = await register();
    const count = (): number => log.commands.length;
    const before = count();
    await store.patch('p', id, { endPointName: null });
    await store.patch('p', id, { apiKey: 'other' });
    await store.disable('p', id, 'gone', [3]);
    await store.enable('p', id);
    expect((await store.find('p', id))?.details).toMatchObject({ status: 'active', endPointName: null });
    expect(count() - before).toBe(4);
    await store.patch('p', id, { endPointDesc: null });
    expect(count() - before).toBe(4);
  });
});
