import { once } from 'node:events';
import { Keyring } from '@relay/keyring';
import { memoryRegistry, MemoryRegistryLog, redisOfSpec } from '@relay/testing';
import { Redis } from 'ioredis';
import { NO_REGISTRY, readRegistryVersion, REGISTRY_REBUILDING } from '@relay/redis';
import { WebhookStore, RedisWebhookView, webhookKeys } from './index.js';
import type { WebhookDraft } from './webhook-changes.js';

const { server, redis } = await redisOfSpec();

const keyring = Keyring.parse(`k1:${Buffer.alloc(32, 1).toString('base64')}`);
const [WEBHOOKS] = webhookKeys;

const aDraft = (path: string | number, apiKey = 'key'): WebhookDraft => {
  const url = `https://e.example/${path}`;
  const members = { endPointUrl: url, url, origin: 'https://e.example', apiKey };
  return { eventType: 'task.created', ...members };
};

describe('RedisWebhookView', () => {
  let store: WebhookStore;
  let log: MemoryRegistryLog;
  let view: RedisWebhookView;

  beforeEach(async () => {
    await redis.flushdb();
    log = new MemoryRegistryLog();
    store = new WebhookStore(redis, memoryRegistry(redis, log).of('webhook'), keyring, { perPartner: 100_000 });
    view = new RedisWebhookView(redis, memoryRegistry(redis, log).of('webhook'), keyring);
  });

  const refresh = (): Promise<void> => view.refresh();
  const urls = (): string[] =>
    view
      .matching('task.created', ['p1'])
      .map(({ url }) => url)
      .toSorted();
  const callsOf = async (command: string): Promise<number> => {
    const stats = await redis.info('commandstats');
    return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  };

  it('shows an empty registry, registrations, updates and deletions', async () => {
    await view.refreshTo(0);
    expect(view.version).toBe(0);
    await store.register('p1', aDraft('a'));
    await store.register('p1', aDraft('b'));
    await store.register('p2', aDraft('a'));
    await refresh();
    expect(urls()).toEqual(['https://e.example/a', 'https://e.example/b']);
    expect(view.matching('task.created', [])).toHaveLength(3);
    expect(view.matching('task.deleted', [])).toEqual([]);
    const [a, b] = view.matching('task.created', ['p1']);
    await store.update('p1', aDraft('c', 'key-2'), a?.id);
    await store.delete('p1', 'task.created', b?.id);
    await refresh();
    expect(urls()).toEqual(['https://e.example/c']);
    const opened = await view.find(a?.id ?? '')?.opened();
    expect(opened?.credential()).toEqual({ kind: 'apiKey', apiKey: 'key-2' });
    // The old address must not get the new credential.
    await expect(a?.opened()).rejects.toThrow('changed');
    expect(view.find(b?.id ?? '')).toBeUndefined();
    expect(view.version).toBe(5);
  });

  it.each([WEBHOOKS, `${WEBHOOKS}:sealed`, `${WEBHOOKS}:changes`])(
    'shows no registry of which %s is gone',
    async (key) => {
      await store.register('p1', aDraft('a'));
      await refresh();
      await redis.del(key);
      await expect(view.reload()).rejects.toThrow('Keys of the webhooks are gone from Redis');
      // What was read before stays.
      expect(urls()).toEqual(['https://e.example/a']);
    },
  );

  it('goes on past a webhook for an event type that only a newer release has', async () => {
    await store.register('p1', { ...aDraft('new'), eventType: 'task.archived' });
    await store.register('p1', aDraft('a'));
    await refresh();
    expect(urls()).toEqual(['https://e.example/a']);
    expect((await store.list('p1', { limit: 10 })).records).toHaveLength(2);
  });

  it('shows the signing secret that the partner reads', async () => {
    const result = await store.register('p1', aDraft('a'));
    await refresh();
    const id = result.kind === 'created' ? result.id : '';
    expect((await view.find(id)?.opened())?.secrets(0)).toEqual([await store.signingSecret('p1', id)]);
  });

  it('always shows a webhook registered before the refresh, 1,000 times in a row, and reads only changes', async () => {
    await refresh();
    const read = await callsOf('hget');
    for (let n = 1; n <= 1_000; n++) {
      await store.register(`p${n % 7}`, aDraft(n));
      await refresh();
      expect(view.matching('task.created', [])).toHaveLength(n);
    }
    // A read of the record for the view, and three by which registering sees whether anything refuses it.
    expect((await callsOf('hget')) - read).toBeLessThan(10_000);
  });

  it('asks Redis nothing when it shows the version already', async () => {
    await store.register('p1', aDraft('a'));
    await refresh();
    const before = await callsOf('evalsha');
    await view.refreshTo(1);
    expect(await callsOf('evalsha')).toBe(before);
  });

  it('shares one further read among calls made during a read', async () => {
    await store.register('p1', aDraft('a'));
    const before = await callsOf('evalsha');
    const first = view.refreshTo(1);
    await store.register('p1', aDraft('b'));
    await Promise.all([first, ...Array.from({ length: 50 }, () => view.refreshTo(2))]);
    expect(urls()).toHaveLength(2);
    // One registration, which looks before it is appended, and at most three reads.
    expect((await callsOf('evalsha')) - before).toBeLessThanOrEqual(5);
  });

  it('ignores an old question', async () => {
    await store.register('p1', aDraft('a'));
    await store.register('p1', aDraft('b'));
    await refresh();
    await view.refreshTo(1);
    expect(view.version).toBe(2);
    expect(urls()).toHaveLength(2);
  });

  it('reads everything again when Redis went back in time', async () => {
    await store.register('p1', aDraft('a'));
    const keys = await redis.keys('*');
    const dumps = await Promise.all(
      keys.map(async (key) => [key, (await redis.dumpBuffer(key)) ?? Buffer.of()] as const),
    );
    await store.register('p1', aDraft('b'));
    await store.register('p1', aDraft('c'));
    await refresh();
    await redis.flushdb();
    log.commands.length = 0;
    for (const [key, dump] of dumps) await redis.restore(key, 0, dump);
    await refresh();
    expect(view.version).toBe(1);
    expect(urls()).toEqual(['https://e.example/a']);
  });

  it('shows nothing only of a registry that is empty: never of a Redis that was emptied on a connection that stayed', async () => {
    await store.register('p1', aDraft('a'));
    await store.register('p1', aDraft('b'));
    const registry = memoryRegistry(redis, log).of<never>('webhook');
    let emptied = 0;
    const shown = new RedisWebhookView(
      redis,
      {
        current: () => registry.current(),
        catchUp: async () => {
          await registry.catchUp();
          // The very moment between bringing Redis up to date and reading it.
          if (emptied++ < 3) await redis.flushdb();
        },
      },
      keyring,
    );
    await shown.reload();
    expect(emptied).toBe(4);
    expect(shown.matching('task.created', [])).toHaveLength(2);
    await redis.flushdb();
    expect(await readRegistryVersion(redis)).toBe(NO_REGISTRY);
    await shown.refresh();
    expect(shown.matching('task.created', [])).toHaveLength(2);
  });

  it('asks again where Redis shows no registry, or one that is being rebuilt', async () => {
    await view.refresh();
    expect([view.version, await readRegistryVersion(redis)]).toEqual([0, 0]);
    await store.register('p1', aDraft('a'));
    await redis.set(REGISTRY_REBUILDING, 'fill 0');
    expect(await readRegistryVersion(redis)).toBe(NO_REGISTRY);
    await redis.del(REGISTRY_REBUILDING);
    await view.refresh();
    expect(view.matching('task.created', [])).toHaveLength(1);
  });

  it('reads everything again on demand, when Redis went back and counted on', async () => {
    await store.register('p1', aDraft('a'));
    await store.register('p1', aDraft('b'));
    await refresh();
    await redis.flushdb();
    log.commands.length = 0;
    for (const path of ['x', 'y', 'z']) await store.register('p1', aDraft(path));
    // A read that is under way does not count as the one demanded.
    await Promise.all([view.refreshTo(9), view.reload()]);
    expect(urls()).toEqual(['x', 'y', 'z'].map((path) => `https://e.example/${path}`));
  });

  it('reads everything again when the deletions no longer reach back to its version, and shows all of 10,500', async () => {
    await store.register('p1', aDraft('gone'));
    await refresh();
    const gone = view.matching('task.created', [])[0]?.id;
    await store.delete('p1', 'task.created');
    for (let from = 0; from < 10_500; from += 500)
      await Promise.all(Array.from({ length: 500 }, (_, n) => store.register(`p${n % 50}`, aDraft(from + n))));
    // As many deletions after that one, the last of which drops it.
    await redis.zadd(`${WEBHOOKS}:deleted`, ...Array.from({ length: 10_000 }, (_, n) => [3 + n, `id-${n}`]).flat());
    await store.delete('p0', 'task.created', (await store.idsOf('p0'))[0]);
    expect(await redis.zscore(`${WEBHOOKS}:deleted`, gone ?? '')).toBeNull();
    const before = await callsOf('hget');
    await refresh();
    expect(view.matching('task.created', [])).toHaveLength(10_499);
    expect(view.find(gone ?? '')).toBeUndefined();
    expect((await callsOf('hget')) - before).toBeGreaterThanOrEqual(10_499);
    await store.register('p1', aDraft('last'));
    const full = await callsOf('hget');
    await refresh();
    expect(view.matching('task.created', [])).toHaveLength(10_500);
    expect((await callsOf('hget')) - full).toBe(1);
  });

  it('keeps its state while Redis cannot be reached, and goes on afterwards', async () => {
    await store.register('p1', aDraft('a'));
    await refresh();
    const cut = new Redis(server.url(), { enableOfflineQueue: false, retryStrategy: () => null });
    const shown = new RedisWebhookView(cut, memoryRegistry(cut, log).of('webhook'), keyring);
    await once(cut, 'ready');
    await shown.refreshTo(1);
    cut.disconnect();
    await once(cut, 'end');
    await expect(shown.refreshTo(2)).rejects.toThrow('closed');
    await expect(shown.reload()).rejects.toThrow('closed');
    expect(shown.matching('task.created', [])).toHaveLength(1);
    // The demand outlives its failure: another history at the very same version is not taken for ours.
    await redis.flushdb();
    log.commands.length = 0;
    await store.register('p1', aDraft('b'));
    await cut.connect();
    await shown.refreshTo(1);
    expect(shown.matching('task.created', []).map(({ url }) => url)).toEqual(['https://e.example/b']);
    cut.disconnect();
  });
});
