import { once } from 'node:events';
import { Keyring } from '@relay/keyring';
import { memoryRegistry, MemoryRegistryLog, redisOfSpec } from '@relay/testing';
import { RedisSealedWebhooks, WebhookStore } from './index.js';
import { kidsOf, type Resealing } from './redis-sealed-webhooks.adapter.js';
import { openCredential, openSecret, openSecrets } from './webhook-changes.js';
import { storedOf } from './spec-stored.js';
import { type StoredWebhook, StoredWebhooks } from './stored-webhooks.adapter.js';
import { webhookKeys } from './webhook.script.js';

const { redis } = await redisOfSpec();

const key = (kid: string, byte: number): string => `${kid}:${Buffer.alloc(32, byte).toString('base64')}`;
const [before, both, after] = [key('k1', 1), `${key('k2', 2)},${key('k1', 1)}`, key('k2', 2)].map((text) =>
  Keyring.parse(text),
) as [Keyring, Keyring, Keyring];
const [WEBHOOKS] = webhookKeys;
const DAY_MS = 86_400_000;

let log: MemoryRegistryLog;
beforeAll(async () => {
  await once(redis, 'ready');
});
beforeEach(async () => {
  await redis.flushdb();
  log = new MemoryRegistryLog();
});

const registry = () => memoryRegistry(redis, log).of<never>('webhook');
const storeWith = (keyring: Keyring) => new WebhookStore(redis, registry(), keyring, { perPartner: 1_000 });
const itemsWith = (keyring: Keyring, now = Date.now) => new WebhookStore(redis, registry(), keyring, { now });
const sealedWith = (keyring: Keyring, now = Date.now) => new RedisSealedWebhooks(redis, registry(), keyring, now);
const stored = async (id: string): Promise<StoredWebhook> => storedOf(redis, id);
const draft = (n: number, credential: object = { apiKey: `key-${n}` }) => {
  const url = `https://hooks.example.com/${n}`;
  return {
    eventType: 'task.created' as const,
    endPointUrl: url,
    url,
    origin: 'https://hooks.example.com',
    ...credential,
  };
};
const register = async (n: number, credential?: object): Promise<string> => {
  const result = await storeWith(before).register('p', draft(n, credential));
  if (result.kind !== 'created') throw new Error(result.kind);
  return result.id;
};
const rotated = async (keyring: Keyring, id: string): Promise<string | undefined> => {
  const result = await itemsWith(keyring).rotateSecret('p', id);
  return result.kind === 'rotated' ? result.secret : undefined;
};
const resealAll = async (webhooks: RedisSealedWebhooks): Promise<Resealing[]> => {
  const became: Resealing[] = [];
  for await (const ids of webhooks.ids()) for (const id of ids) became.push(await webhooks.reseal(id));
  return became;
};

describe('RedisSealedWebhooks', () => {
  const kinds = [{ apiKey: 'a' }, { jwt: 'j' }, { userName: 'u', password: 'p' }];

  it('re-seals credentials of each kind, both signing secrets and the hash of the credential, and changes nothing else', async () => {
    const ids = await Promise.all(kinds.map((credential, n) => register(n, credential)));
    await itemsWith(before).rotateSecret('p', ids[0] ?? '');
    const old = await Promise.all(ids.map(stored));
    expect(await resealAll(sealedWith(both))).toEqual(['resealed', 'resealed', 'resealed']);
    for (const was of old) {
      const now = await stored(was.id);
      expect([...kidsOf(now)]).toEqual(['k2']);
      expect(openCredential(now, after)).toEqual(openCredential(was, before));
      expect(openSecrets(now, after, 0)).toEqual(openSecrets(was, before, 0));
      const { credential: _1, credentialHash: _2, secrets: _3, version: _4, ...rest } = was;
      expect(now).toMatchObject(rest);
    }
    for (const [n, credential] of [
      { kind: 'apiKey', apiKey: 'a' } as const,
      { kind: 'jwt', jwt: 'j' } as const,
    ].entries())
      expect((await storeWith(after).list('p', { credential, limit: 9 })).records.map(({ id }) => id)).toEqual([
        ids[n],
      ]);
    expect(await storeWith(after).partnerWith({ kind: 'basic', userName: 'u', password: 'p' })).toBe('p');
    expect(await sealedWith(both).byKey()).toEqual(new Map([['k2', new Set(ids)]]));
  });

  it('changes nothing when it is done again, and goes on where it was killed', async () => {
    for (let n = 0; n < 6; n += 1) await register(n);
    const webhooks = sealedWith(both);
    for await (const ids of webhooks.ids()) for (const id of ids.slice(0, 2)) await webhooks.reseal(id);
    expect((await resealAll(sealedWith(both))).toSorted()).toEqual([
      ...Array.from({ length: 2 }, () => 'current'),
      ...Array.from({ length: 4 }, () => 'resealed'),
    ]);
    const commands = log.commands.length;
    expect(new Set(await resealAll(sealedWith(both)))).toEqual(new Set(['current']));
    expect(log.commands).toHaveLength(commands);
  });

  it('loses none of the updates made at the same time', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, (_, n) => register(n)));
    const secrets = new Map<string, string | undefined>();
    const update = async (id: string, n: number): Promise<void> => {
      // Half of the ingresses are restarted with the new key already.
      const keyring = n % 2 === 0 ? before : both;
      await itemsWith(both).patch('p', id, { endPointName: `name ${n}` });
      await storeWith(keyring).update('p', { ...draft(n), apiKey: `fresh-${n}` }, id);
      secrets.set(id, await rotated(both, id));
    };
    const webhooks = sealedWith(both);
    await Promise.all(ids.flatMap((id, n) => [update(id, n), webhooks.reseal(id), webhooks.reseal(id)]));
    await resealAll(webhooks);
    for (const [n, id] of ids.entries()) {
      const now = await stored(id);
      expect([...kidsOf(now)]).toEqual(['k2']);
      expect(openCredential(now, after)).toEqual({ kind: 'apiKey', apiKey: `fresh-${n}` });
      expect(openSecret(now, after)).toBe(secrets.get(id));
    }
  });

  it.each<[string, (id: string) => Promise<unknown>, Resealing]>([
    ['an update', (id) => storeWith(before).update('p', { ...draft(0), apiKey: 'fresh' }, id), 'resealed'],
    [
      'an update of a process with the new key',
      (id) => itemsWith(both).patch('p', id, { apiKey: 'fresh' }),
      'resealed',
    ],
    ['a deletion', (id) => itemsWith(before).remove('p', id), 'gone'],
  ])('sees %s between its read and its change', async (_name, interfere, became) => {
    const id = await register(0);
    const view = registry();
    let isFirst = true;
    const overtaken = {
      ...view,
      change: async (command: never): Promise<unknown> => {
        if (isFirst) await interfere(id);
        isFirst = false;
        return view.change(command);
      },
    };
    expect(await new RedisSealedWebhooks(redis, overtaken, both, Date.now).reseal(id)).toBe(became);
    const left = await new StoredWebhooks(redis).whole(id);
    expect(left && [openCredential(left, after), openSecrets(left, after, 0).length]).toEqual(
      became === 'gone' ? undefined : [{ kind: 'apiKey', apiKey: 'fresh' }, 1],
    );
  });

  it('leaves a registry from which an emptied Redis is rebuilt and opens with the new key alone', async () => {
    const ids = await Promise.all([register(0), register(1)]);
    await resealAll(sealedWith(both));
    const shown = await Promise.all(ids.map(stored));
    await redis.flushdb();
    await memoryRegistry(redis, log).catchUp();
    expect(await Promise.all(ids.map(stored))).toEqual(shown);
    expect((await Promise.all(ids.map(stored))).map((webhook) => openCredential(webhook, after))).toEqual([
      { kind: 'apiKey', apiKey: 'key-0' },
      { kind: 'apiKey', apiKey: 'key-1' },
    ]);
  });

  it('leaves a value that no key opens and reports it; reports a deleted webhook as gone', async () => {
    const [id, deleted] = [await register(0), await register(1)];
    await itemsWith(before).remove('p', deleted);
    const json = await redis.hget(`${WEBHOOKS}:sealed`, id);
    expect(await sealedWith(after).reseal(id)).toBe('unreadable');
    expect(await sealedWith(both).reseal(deleted)).toBe('gone');
    // The right name on another key.
    expect(await sealedWith(Keyring.parse(key('k1', 9))).reseal(id)).toBe('unreadable');
    expect(await redis.hget(`${WEBHOOKS}:sealed`, id)).toBe(json);
    await redis.hset(`${WEBHOOKS}:sealed`, id, '{}');
    expect(await sealedWith(both).reseal(id)).toBe('unreadable');
    expect([...(await sealedWith(both).byKey()).keys()]).toEqual(['k2', 'k1']);
  });

  it('drops a secret that signs no more, and keeps one that still does', async () => {
    const id = await register(0);
    await itemsWith(before).rotateSecret('p', id);
    expect(await sealedWith(both).reseal(id)).toBe('resealed');
    expect((await stored(id)).secrets).toHaveLength(2);
    const other = await register(1);
    await itemsWith(before).rotateSecret('p', other);
    expect(await sealedWith(both, () => Date.now() + 2 * DAY_MS).reseal(other)).toBe('resealed');
    expect((await stored(other)).secrets).toHaveLength(1);
  });

  it('finds a webhook whose key is lost repaired by one rotation of its secret and its credential sent again', async () => {
    const [replaced, patched] = [await register(0), await register(1)];
    const secrets = await Promise.all([replaced, patched].map((id) => rotated(after, id)));
    await storeWith(after).update('p', { ...draft(0), apiKey: 'again' }, replaced);
    await itemsWith(after).patch('p', patched, { apiKey: 'again' });
    for (const [n, id] of [replaced, patched].entries()) {
      const webhook = await itemsWith(after).deliverable('p', id);
      const opened = await webhook?.opened();
      expect(opened?.secrets(Date.now())).toEqual([secrets[n]]);
      expect(opened?.credential()).toEqual({ kind: 'apiKey', apiKey: 'again' });
      expect(await storeWith(after).signingSecret('p', id)).toBe(secrets[n]);
    }
    expect(await resealAll(sealedWith(after))).toEqual(['current', 'current']);
  });
});
