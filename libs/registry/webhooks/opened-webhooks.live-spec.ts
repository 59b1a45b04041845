import { once } from 'node:events';
import { Keyring } from '@relay/keyring';
import { memoryRegistry, MemoryRegistryLog, startRedisServer, type RedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import { WebhookStore, RedisWebhookView } from './index.js';
import type { WebhookDraft } from './webhook-changes.js';

const keyring = Keyring.parse(`k1:${Buffer.alloc(32, 1).toString('base64')}`);

const aDraft = (n: number): WebhookDraft => {
  const url = `https://e${n}.example/`;
  const members = { endPointUrl: url, url, origin: `https://e${n}.example`, apiKey: `key-${n}` };
  return { eventType: 'task.created', ...members };
};

let server: RedisServer;
let redis: Redis;
let log: MemoryRegistryLog;
let store: WebhookStore;
let view: RedisWebhookView;

beforeAll(async () => {
  server = await startRedisServer();
});
beforeEach(async () => {
  redis = new Redis(server.url(), { enableOfflineQueue: false, retryStrategy: () => null });
  await once(redis, 'ready');
  await redis.flushdb();
  log = new MemoryRegistryLog();
  store = new WebhookStore(redis, memoryRegistry(redis, log).of('webhook'), keyring, { perPartner: 100 });
  view = viewOf(10);
});
afterEach(() => redis.disconnect());
afterAll(() => server.stop());

const viewOf = (entries: number, bytes = 1_000_000): RedisWebhookView =>
  new RedisWebhookView(redis, memoryRegistry(redis, log).of('webhook'), keyring, { entries, bytes });
const register = async (n: number): Promise<string> => {
  const result = await store.register('p', aDraft(n));
  if (result.kind !== 'created') throw new Error(result.kind);
  return result.id;
};
const calls = async (): Promise<number> =>
  Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
const keyOf = async (id: string): Promise<unknown> => (await view.find(id)?.opened())?.credential();

describe('the opened values of a webhook', () => {
  it('are read once for each version, on demand, however many deliveries need them', async () => {
    const ids = await Promise.all([0, 1, 2].map(register));
    await view.reload();
    const before = await calls();
    const [id = ''] = ids;
    await Promise.all(Array.from({ length: 50 }, () => keyOf(id)));
    for (let n = 0; n < 50; n += 1) expect(await keyOf(id)).toEqual({ kind: 'apiKey', apiKey: 'key-0' });
    expect((await calls()) - before).toBe(1);
    await store.update('p', { ...aDraft(0), apiKey: 'other' }, id);
    await view.refreshTo(view.version + 1);
    const updated = await calls();
    expect(await keyOf(id)).toEqual({ kind: 'apiKey', apiKey: 'other' });
    expect((await calls()) - updated).toBe(1);
  });

  it.each([
    ['webhooks', 2, 1_000_000],
    ['bytes', 10, 500],
  ])('is kept for a bounded number of %s, those used last', async (_, entries, bytes) => {
    const [a = '', b = '', c = ''] = await Promise.all([0, 1, 2].map(register));
    view = viewOf(entries, bytes);
    await view.reload();
    for (const id of [a, b, a, c]) await keyOf(id);
    const before = await calls();
    await keyOf(a);
    await keyOf(c);
    expect((await calls()) - before).toBe(0);
    await keyOf(b);
    expect((await calls()) - before).toBe(1);
  });

  it('is refused, and fits no other version, while Redis is away or shows a change that the view does not', async () => {
    const [id, known] = [await register(0), await register(1)];
    await view.reload();
    await keyOf(known);
    await new WebhookStore(redis, memoryRegistry(redis, log).of('webhook'), keyring).patch('p', id, {
      apiKey: 'for another address',
    });
    await expect(keyOf(id)).rejects.toThrow('changed');
    await view.refreshTo(view.version + 1);
    expect(await keyOf(id)).toEqual({ kind: 'apiKey', apiKey: 'for another address' });
    const other = await register(2);
    await view.refreshTo(view.version + 1);
    redis.disconnect();
    await once(redis, 'end');
    await expect(keyOf(other)).rejects.toThrow('closed');
    expect(await keyOf(known)).toEqual({ kind: 'apiKey', apiKey: 'key-1' });
  });

  it('are dropped when everything is read again: the same version may be another change', async () => {
    const id = await register(0);
    await view.reload();
    await keyOf(id);
    const before = await calls();
    await view.reload();
    await keyOf(id);
    // One slice of records, one webhook.
    expect((await calls()) - before).toBe(2);
  });
});
