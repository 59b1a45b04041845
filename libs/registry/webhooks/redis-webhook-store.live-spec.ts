import { Keyring } from '@relay/keyring';
import { memoryRegistry, MemoryRegistryLog, redisOfSpec } from '@relay/testing';
import { WebhookStore } from './index.js';
import { openCredential, updateCommand, type WebhookDraft } from './webhook-changes.js';
import { aDraft, storedOf } from './spec-stored.js';
import type { StoredWebhook, WebhookCommand } from './stored-webhooks.adapter.js';
import { webhookKeys } from './webhook.script.js';

const { redis } = await redisOfSpec();

const key = (kid: string, byte: number): string => `${kid}:${Buffer.alloc(32, byte).toString('base64')}`;
const keyring = Keyring.parse(key('k1', 1));
const [WEBHOOKS, VERSION] = webhookKeys;

describe('WebhookStore', () => {
  let store: WebhookStore;
  let log: MemoryRegistryLog;

  beforeEach(async () => {
    await redis.flushdb();
    log = new MemoryRegistryLog();
    store = new WebhookStore(redis, memoryRegistry(redis, log).of('webhook'), keyring, { perPartner: 5 });
  });

  const register = async (partnerId: string, changes: Partial<WebhookDraft> = {}): Promise<string> => {
    const result = await store.register(partnerId, aDraft(changes));
    if (result.kind !== 'created') throw new Error(result.kind);
    return result.id;
  };
  const stored = async (id: string): Promise<StoredWebhook> => storedOf(redis, id);
  const version = async (): Promise<number> => Number(await redis.get(VERSION));
  const idsOf = async (partnerId: string): Promise<string[]> =>
    (await store.list(partnerId, { limit: 1_000 })).records.map(({ id }) => id);
  const everything = async (): Promise<unknown> => {
    const all = (await redis.keys('*')).toSorted();
    // What the registry keeps of its own moves with every command, refused ones too.
    const keys = all.filter((name) => name === VERSION || !name.includes(':registry:'));
    return Promise.all(keys.map(async (name) => [name, (await redis.dumpBuffer(name))?.toString('hex')]));
  };

  it('stores a registration with sealed values under keys of one shard', async () => {
    const secret = 'an-api-key-to-look-for';
    const id = await register('p1', { apiKey: secret, endPointName: 'n' });
    await register('p1', { eventType: 'plan.created', userName: 'someuser', password: 'somepassword' });
    const signing = await store.signingSecret('p1', id);
    expect(signing).toMatch(/^whsec_/);
    expect(Buffer.from(signing?.slice(6) ?? '', 'base64')).toHaveLength(32);
    expect(openCredential(await stored(id), keyring)).toEqual({ kind: 'apiKey', apiKey: secret });
    const names = await redis.keys('*');
    expect(names.filter((name) => !name.startsWith('{relay:0}:'))).toEqual([]);
    const values = JSON.stringify([await redis.hvals(WEBHOOKS), await redis.hvals(`${WEBHOOKS}:sealed`), names]);
    for (const plain of [secret, 'someuser', 'somepassword', signing?.slice(6)]) expect(values).not.toContain(plain);
  });

  it('opens no credential that was moved to another webhook, partner or field', async () => {
    const [a, b] = [await stored(await register('p1')), await stored(await register('p2'))];
    expect(() => openCredential({ ...a, credential: b.credential }, keyring)).toThrow('belongs elsewhere');
    expect(() => openCredential({ ...a, partnerId: 'p2' }, keyring)).toThrow('belongs elsewhere');
    expect(() => openCredential({ ...a, credential: { kind: 'jwt', jwt: a.secrets[0] ?? '' } }, keyring)).toThrow(
      'belongs elsewhere',
    );
  });

  it('lists the five fields, oldest first, in pages, by event type and by credential', async () => {
    const a = await register('p1', { endPointUrl: 'https://a.example' });
    const b = await register('p1', { eventType: 'plan.created', jwt: 'j', endPointDesc: 'd', endPointName: 'n' });
    const c = await register('p1', { endPointUrl: 'https://c.example', jwt: 'j' });
    await register('p2', { jwt: 'j' });
    await store.update('p1', aDraft({ endPointUrl: 'https://a2.example' }), a);
    expect((await store.list('p1', { limit: 3 })).records).toEqual([
      { id: a, eventType: 'task.created', endPointUrl: 'https://a2.example', endPointDesc: null, endPointName: null },
      {
        id: b,
        eventType: 'plan.created',
        endPointUrl: 'https://hooks.example.com/a',
        endPointDesc: 'd',
        endPointName: 'n',
      },
      { id: c, eventType: 'task.created', endPointUrl: 'https://c.example', endPointDesc: null, endPointName: null },
    ]);
    const credential = { kind: 'jwt', jwt: 'j' } as const;
    for (const [filter, expected] of [
      [{}, [a, b, c]],
      [{ eventType: 'task.created' }, [a, c]],
      [{ credential }, [b, c]],
      [{ credential, eventType: 'task.created' }, [c]],
      [{ credential: { kind: 'apiKey', apiKey: 'j' } as const }, []],
    ] as const) {
      const found: string[] = [];
      for (let after: number | undefined, more = true; more;) {
        const page = await store.list('p1', { ...filter, after, limit: 1 });
        found.push(...page.records.map(({ id }) => id));
        after = page.next;
        more = page.next !== undefined;
      }
      expect(found).toEqual(expected);
    }
  });

  it('answers the existing webhook to an equal registration and changes nothing', async () => {
    const id = await register('p1', { endPointUrl: 'https://A.example' });
    const before = await everything();
    expect(await store.register('p1', aDraft({ endPointUrl: 'https://a.example/', jwt: 'other' }))).toEqual({
      kind: 'exists',
      id,
    });
    expect(await everything()).toEqual(before);
    await register('p1', { endPointUrl: 'https://a.example', eventType: 'task.deleted' });
    await register('p2', { endPointUrl: 'https://a.example' });
  });

  it('replaces all attributes but id, event type, signing secret and time of registration', async () => {
    const id = await register('p1', { endPointDesc: 'd', endPointName: 'n' });
    const [before, secret] = [await stored(id), await store.signingSecret('p1', id)];
    expect(await store.update('p1', aDraft({ userName: 'u', password: 'p' }))).toEqual({
      kind: 'updated',
      id,
      version: 2,
    });
    const after = await stored(id);
    expect(openCredential(after, keyring)).toEqual({ kind: 'basic', userName: 'u', password: 'p' });
    expect(after).not.toHaveProperty('endPointDesc');
    expect(after).not.toHaveProperty('endPointName');
    expect(after).toMatchObject({
      id,
      createdAt: before.createdAt,
      sequence: 1,
      version: 2,
      eventType: 'task.created',
    });
    expect(await store.signingSecret('p1', id)).toBe(secret);
  });

  it('keeps URLs unique through updates and frees the URL that was left', async () => {
    const a = await register('p1', { endPointUrl: 'https://a.example' });
    const b = await register('p1', { endPointUrl: 'https://b.example' });
    const before = await everything();
    expect(await store.update('p1', aDraft({ endPointUrl: 'https://a.example' }), b)).toEqual({
      kind: 'exists',
      id: a,
    });
    expect(await everything()).toEqual(before);
    await store.update('p1', aDraft({ endPointUrl: 'https://c.example' }), a);
    expect(await store.update('p1', aDraft({ endPointUrl: 'https://a.example' }), b)).toMatchObject({
      kind: 'updated',
      id: b,
    });
    expect(await store.register('p1', aDraft({ endPointUrl: 'https://c.example' }))).toEqual({ kind: 'exists', id: a });
    await register('p1', { endPointUrl: 'https://b.example' });
  });

  it('finds none, one or several webhooks when an update or deletion names no id', async () => {
    const missing = { kind: 'not-found' };
    expect(await store.update('p1', aDraft())).toEqual(missing);
    expect(await store.delete('p1', 'task.created')).toEqual(missing);
    const a = await register('p1');
    const b = await register('p1', { endPointUrl: 'https://b.example' });
    await register('p2');
    const before = await everything();
    expect(await store.update('p1', aDraft())).toEqual({ kind: 'ambiguous', ids: [a, b] });
    expect(await store.delete('p1', 'task.created')).toEqual({ kind: 'ambiguous', ids: [a, b] });
    expect(await everything()).toEqual(before);
    expect(await store.delete('p1', 'task.created', a)).toMatchObject({ kind: 'deleted', id: a });
    expect(await store.delete('p1', 'task.created')).toMatchObject({ kind: 'deleted', id: b });
    expect(await idsOf('p1')).toEqual([]);
    expect(await idsOf('p2')).toHaveLength(1);
  });

  it('does not find an id of another event type or partner, and changes nothing', async () => {
    const id = await register('p1');
    const before = await everything();
    const missing = { kind: 'not-found' };
    expect(await store.update('p2', aDraft(), id)).toEqual(missing);
    expect(await store.update('p1', aDraft({ eventType: 'plan.created' }), id)).toEqual(missing);
    expect(await store.delete('p2', 'task.created', id)).toEqual(missing);
    expect(await store.delete('p1', 'plan.created', id)).toEqual(missing);
    expect(await store.signingSecret('p2', id)).toBeUndefined();
    expect(await store.signingSecret('p1', 'none')).toBeUndefined();
    expect(await everything()).toEqual(before);
  });

  it('refuses a command built on an outdated version of a webhook', async () => {
    const id = await register('p1');
    const seals = { keyring, iv: () => Buffer.alloc(12) };
    const command = updateCommand({ partnerId: 'p1', id, only: true }, aDraft(), seals, 1);
    const registry = memoryRegistry(redis, log).of<WebhookCommand>('webhook');
    expect(await registry.change({ ...command, ifVersion: 2 } as WebhookCommand)).toEqual({ kind: 'stale' });
    expect(await registry.change({ ...command, ifVersion: 1 } as WebhookCommand)).toMatchObject({ kind: 'updated' });
    await store.delete('p1', 'task.created');
    await register('p1');
    expect(await registry.change(command)).toEqual({ kind: 'stale' });
  });

  it('leaves only the list of deletions for readers when all webhooks are deleted', async () => {
    for (const n of [1, 2, 3]) await register('p1', { endPointUrl: `https://e${n}.example`, jwt: 'j' });
    for (const id of await idsOf('p1')) await store.delete('p1', 'task.created', id);
    const isOthers = (name: string): boolean => name.includes(':registry:') || name.endsWith(':deployment');
    const left = (await redis.keys('*')).filter((name) => name === VERSION || !isOthers(name));
    expect(left.toSorted()).toEqual([VERSION, `${WEBHOOKS}:deleted`]);
    expect(await version()).toBe(6);
  });

  it('finds the partner of a credential only when it is the only one, also after a rotation of the key', async () => {
    const credential = { kind: 'basic', userName: 'u', password: 'p' } as const;
    const basic = { userName: 'u', password: 'p' };
    expect(await store.partnerWith(credential)).toBeUndefined();
    await register('p1', basic);
    await register('p1', { ...basic, eventType: 'plan.created' });
    expect(await store.partnerWith(credential)).toBe('p1');
    expect(await store.partnerWith({ kind: 'basic', userName: 'u', password: 'P' })).toBeUndefined();
    const rotated = new WebhookStore(
      redis,
      memoryRegistry(redis, log).of('webhook'),
      Keyring.parse(`${key('k2', 2)},${key('k1', 1)}`),
      { perPartner: 5 },
    );
    expect(await rotated.partnerWith(credential)).toBe('p1');
    expect((await rotated.list('p1', { credential, limit: 9 })).records).toHaveLength(2);
    await rotated.register('p2', aDraft(basic));
    expect(await rotated.partnerWith(credential)).toBeUndefined();
    await rotated.delete('p2', 'task.created');
    await rotated.delete('p1', 'task.created');
    expect(await rotated.partnerWith(credential)).toBe('p1');
    await rotated.update('p1', aDraft({ eventType: 'plan.created', jwt: 'j' }));
    expect(await rotated.partnerWith(credential)).toBeUndefined();
  });

  it('keeps texts as they are', async () => {
    const endPointDesc = '"\\/\u0001\u007f\u2028 ü 😀 </script>';
    await register('p1', { endPointDesc });
    await store.update('p1', aDraft({ endPointDesc, endPointName: '' }));
    expect((await store.list('p1', { limit: 1 })).records[0]).toMatchObject({ endPointDesc, endPointName: '' });
  });
});
