import { once } from 'node:events';
import { Keyring } from '@relay/keyring';
import { memoryRegistry, MemoryRegistryLog, redisOfSpec } from '@relay/testing';
import { Redis } from 'ioredis';
import { WebhookStore } from './index.js';
import { openCredential, type WebhookDraft } from './webhook-changes.js';
import { aDraft, storedOf } from './spec-stored.js';
import type { StoredWebhook } from './stored-webhooks.adapter.js';
import { webhookKeys } from './webhook.script.js';

const { server, redis } = await redisOfSpec();

const key = (kid: string, byte: number): string => `${kid}:${Buffer.alloc(32, byte).toString('base64')}`;
const keyring = Keyring.parse(key('k1', 1));
const [WEBHOOKS, VERSION] = webhookKeys;

describe('WebhookStore under concurrent changes', () => {
  let store: WebhookStore;
  let log: MemoryRegistryLog;

  beforeEach(async () => {
    await redis.flushdb();
    log = new MemoryRegistryLog();
    store = new WebhookStore(redis, memoryRegistry(redis, log).of('webhook'), keyring, { perPartner: 5 });
  });

  const connections = async (): Promise<Redis[]> => {
    const opened = Array.from({ length: 5 }, () => new Redis(server.url()));
    await Promise.all(opened.map((client) => once(client, 'ready')));
    return opened;
  };
  const register = async (partnerId: string, changes: Partial<WebhookDraft> = {}): Promise<string> => {
    const result = await store.register(partnerId, aDraft(changes));
    if (result.kind !== 'created') throw new Error(result.kind);
    return result.id;
  };
  const stored = async (id: string): Promise<StoredWebhook> => storedOf(redis, id);
  const version = async (): Promise<number> => Number(await redis.get(VERSION));
  const idsOf = async (partnerId: string): Promise<string[]> =>
    (await store.list(partnerId, { limit: 1_000 })).records.map(({ id }) => id);

  it('registers exactly one of 50 equal ones at once', async () => {
    const clients = await connections();
    const stores = clients.map(
      (client) => new WebhookStore(client, memoryRegistry(client, log).of('webhook'), keyring, { perPartner: 5 }),
    );
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, n) => (stores[n % 5] ?? store).register('p1', aDraft({ jwt: `j${n}` }))),
    );
    clients.forEach((client) => client.disconnect());
    const created = results.filter(({ kind }) => kind === 'created');
    expect(created).toHaveLength(1);
    expect(new Set(results.map((result) => ('id' in result ? result.id : ''))).size).toBe(1);
    expect(await redis.hlen(WEBHOOKS)).toBe(1);
    expect(await version()).toBe(1);
  });

  it('stops at the limit of a partner, also under 50 registrations at once', async () => {
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, n) => store.register('p1', aDraft({ endPointUrl: `https://e.example/${n}` }))),
    );
    expect(results.filter(({ kind }) => kind === 'created')).toHaveLength(5);
    expect(results.filter(({ kind }) => kind === 'limit')).toHaveLength(45);
    await register('p2');
    await store.delete('p1', 'task.created', (await idsOf('p1'))[0]);
    await register('p1', { endPointUrl: 'https://again.example' });
  });

  it('applies each of 100 updates of one webhook at once whole and in turn', async () => {
    const id = await register('p1');
    const clients = await connections();
    const stores = clients.map(
      (client) => new WebhookStore(client, memoryRegistry(client, log).of('webhook'), keyring, { perPartner: 5 }),
    );
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        (stores[n % 5] ?? store).update(
          'p1',
          aDraft({
            endPointUrl: `https://e${n}.example/`,
            apiKey: `key-${n}`,
            endPointDesc: `d${n}`,
            endPointName: `n${n}`,
          }),
          n % 2 === 0 ? id : undefined,
        ),
      ),
    );
    clients.forEach((client) => client.disconnect());
    const versions = results.map((result) => (result.kind === 'updated' ? result.version : -1));
    expect(versions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, n) => n + 2));
    const last = versions.indexOf(101);
    const webhook = await stored(id);
    expect(webhook).toMatchObject({
      version: 101,
      sequence: 1,
      url: `https://e${last}.example/`,
      origin: `https://e${last}.example`,
    });
    expect(webhook).toMatchObject({ endPointDesc: `d${last}`, endPointName: `n${last}` });
    expect(openCredential(webhook, keyring)).toEqual({ kind: 'apiKey', apiKey: `key-${last}` });
    // No index remembers any of the 199 others.
    expect(await redis.hgetall(`${WEBHOOKS}:urls:p1`)).toEqual({ [`task.created https://e${last}.example/`]: id });
    const having = `${WEBHOOKS}:credential:${webhook.credentialHash}`;
    expect((await redis.keys(`${WEBHOOKS}:credential:*`)).toSorted()).toEqual([having, `${having}:p1`]);
    expect(await redis.hgetall(`${WEBHOOKS}:origins:p1`)).toEqual({ [`task.created https://e${last}.example`]: '1' });
  });
});
