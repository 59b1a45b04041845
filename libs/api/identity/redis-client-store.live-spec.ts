import { randomBytes } from 'node:crypto';
import { Keyring } from '@relay/keyring';
import { memoryRegistry, redisOfSpec } from '@relay/testing';
import { ClientDirectory, ClientRefused, Clients, ClientStore, roleOf } from './index.js';

const { redis } = await redisOfSpec();
let store: ClientStore;
let clients: Clients;
const keyring = Keyring.parse(`e1:${randomBytes(32).toString('base64')}`);
const JWT = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.${'c2ln'.repeat(11)}`;
let now = 1;

beforeAll(async () => {
  await redis.ping();
  store = new ClientStore(redis, memoryRegistry(redis).of('client'));
  clients = new Clients(store, keyring, randomBytes, () => (now += 1));
});

describe('Clients', () => {
  it('keep their attributes and no secret, oldest first', async () => {
    const partner = await clients.createPartner('Acme');
    const source = await clients.createSource('Core', { audience: [partner.clientId], credential: 'apiKey' });
    await clients.createOperator('Ops', 'admin');
    const listed = await clients.list();
    expect(listed.map(({ kind, name, scopes, audience }) => ({ kind, name, scopes, audience }))).toEqual([
      { kind: 'partner', name: 'Acme', scopes: ['webhooks', 'sessions'], audience: [] },
      { kind: 'source', name: 'Core', scopes: ['deliveries:write'], audience: [partner.clientId] },
      { kind: 'operator', name: 'Ops', scopes: ['operations:read', 'operations:write', 'operations'], audience: [] },
    ]);
    for (const { clientId } of listed) expect(clientId).toMatch(/^(partner|source|operator)_[\w-]{22}$/);
    const stored = JSON.stringify([
      await redis.hgetall('{relay:0}:clients'),
      await redis.hgetall('{relay:0}:clients:credentials'),
    ]);
    expect(stored).not.toContain(partner.clientSecret);
    expect(stored).not.toContain('apiKey' in source ? source.apiKey : '');
  });

  it('loses none of 50 concurrent changes of one client', async () => {
    const { clientId } = await clients.createPartner('Busy');
    await Promise.all(
      Array.from({ length: 50 }, () => store.replace(clientId, (client) => ({ ...client, name: `${client.name}+` }))),
    );
    expect((await store.find(clientId))?.name).toBe(`Busy${'+'.repeat(50)}`);
  });

  it('gives a credential to one of 20 that want it at once', async () => {
    const wanted = Array.from({ length: 20 }, () => clients.createSource('x', { credential: { jwt: JWT } }));
    const results = await Promise.allSettled(wanted);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results)
      if (result.status === 'rejected' && !(result.reason instanceof ClientRefused)) throw result.reason;
  });

  it('leave one admin when all of them lower each other at once', async () => {
    const roles = async (): Promise<(string | undefined)[]> =>
      (await clients.list()).filter(({ kind }) => kind === 'operator').map(({ scopes }) => roleOf(scopes));
    const former = (await clients.list()).filter(({ kind }) => kind === 'operator');
    const made = await Promise.all(Array.from({ length: 5 }, () => clients.createOperator('peer', 'admin')));
    const all = [...former, ...made].map(({ clientId }) => clientId);
    const results = await Promise.allSettled(all.map((clientId) => clients.changeRole(clientId, 'viewer')));
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    expect(refused).toEqual([expect.any(ClientRefused)]);
    expect((await roles()).filter((role) => role === 'admin')).toHaveLength(1);
    expect(await roles()).toHaveLength(all.length);
  });

  it('change the role of operators alone', async () => {
    const { clientId } = await clients.createPartner('no role');
    await expect(clients.changeRole(clientId, 'admin')).rejects.toThrow('only operators have a role');
    await expect(clients.changeRole('nobody', 'admin')).rejects.toThrow(ClientRefused);
  });

  it.each([
    ['a partner nobody is', { audience: ['partner_x'] }],
    ['a word for a JWT', { credential: { jwt: 'a' } }],
    ['a JWT that is not signed', { credential: { jwt: 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.' } }],
    ['a user name with a colon', { credential: { userName: 'a:b' } }],
    ['a user name with a control character', { credential: { userName: 'a\u0000' } }],
    ['an empty user name', { credential: { userName: '' } }],
  ])('refuse a source with %s', async (_name, options) => {
    await expect(clients.createSource('bad', options)).rejects.toThrow(ClientRefused);
  });

  it('refuse to rotate or disable an unknown client, and to rotate a fixed credential', async () => {
    const { clientId } = await clients.createSource('fixed', { credential: 'apiKey' });
    await expect(clients.rotateSecret(clientId)).rejects.toThrow(ClientRefused);
    await expect(clients.rotateSecret('nobody')).rejects.toThrow(ClientRefused);
    await expect(clients.disable('nobody')).rejects.toThrow(ClientRefused);
  });
});

describe('ClientDirectory', () => {
  it('asks Redis once for a client, and again when any client changed', async () => {
    const directory = new ClientDirectory(store, keyring);
    await directory.refresh();
    const { clientId } = await clients.createPartner('Seen');
    await directory.refresh();
    await directory.find(clientId);
    const before = await commands();
    for (let i = 0; i < 20; i += 1) await directory.find(clientId);
    expect((await commands()) - before).toBeLessThanOrEqual(1);
    await clients.disable(clientId);
    await directory.refresh();
    expect(await directory.find(clientId)).toBeUndefined();
  });

  it('learns of a client made after it was asked for', async () => {
    const directory = new ClientDirectory(store, keyring, 2);
    expect(await directory.find('partner_not_yet')).toBeUndefined();
    const { clientId } = await clients.createPartner('New');
    expect(await directory.find(clientId)).toMatchObject({ name: 'New' });
  });
});

describe('ClientDirectory under a new first key', () => {
  const [first, second] = ['e1', 'e2'].map((kid) => `${kid}:${randomBytes(32).toString('base64')}`);
  const under = (keys: string) => new Clients(store, Keyring.parse(keys), randomBytes, () => (now += 1));
  const directoryWith = (keys: string) => new ClientDirectory(store, Keyring.parse(keys));
  const moved = async (clientId: string): Promise<void> => {
    const end = Date.now() + 5_000;
    while (!JSON.stringify(await store.find(clientId)).includes('"e2.') && Date.now() < end) await redis.ping();
    expect(JSON.stringify(await store.find(clientId))).toContain('"e2.');
  };

  it('moves the hash of a client secret when it is used, after which the old key may go', async () => {
    const { clientId, clientSecret: older } = await under(`${first}`).createPartner('Moves');
    const { clientSecret: newer } = await under(`${first}`).rotateSecret(clientId);
    expect(await directoryWith(`${second},${first}`).findBySecret(clientId, 'wrong')).toBeUndefined();
    const [was = '', unused] = (await store.find(clientId))?.secretHashes ?? [];
    expect(was).toMatch(/^e1\./);
    expect(await directoryWith(`${second},${first}`).findBySecret(clientId, newer)).toMatchObject({ name: 'Moves' });
    await moved(clientId);
    expect((await store.find(clientId))?.secretHashes).toEqual([expect.stringMatching(/^e2\./), unused]);
    expect(await directoryWith(`${second}`).findBySecret(clientId, newer)).toMatchObject({ name: 'Moves' });
    expect(await directoryWith(`${second}`).findBySecret(clientId, older)).toBeUndefined();
  });

  it('moves the hash a fixed credential is found by', async () => {
    const made = await under(`${first}`).createSource('Fixed', { credential: 'apiKey' });
    const apiKey = 'apiKey' in made ? made.apiKey : '';
    const isFound = (keys: string) => directoryWith(keys).findByCredential('apiKey', apiKey);
    expect(await isFound(`${second}`)).toBeUndefined();
    expect(await isFound(`${second},${first}`)).toMatchObject({ name: 'Fixed' });
    await moved(made.clientId);
    expect(await isFound(`${second}`)).toMatchObject({ name: 'Fixed' });
    expect(await isFound(`${first}`)).toBeUndefined();
  });

  it('writes little while processes disagree which key is the first', async () => {
    const { clientId, clientSecret } = await under(`${first}`).createPartner('Torn');
    const directories = [directoryWith(`${second},${first}`), directoryWith(`${first},${second}`)];
    const version = Number(await store.version());
    for (let round = 0; round < 50; round += 1)
      for (const directory of directories) {
        await directory.refresh();
        expect(await directory.findBySecret(clientId, clientSecret)).toMatchObject({ name: 'Torn' });
      }
    expect(Number(await store.version()) - version).toBeLessThanOrEqual(2);
  });
});

// INFO counts itself once it is answered.
const commands = async (): Promise<number> =>
  Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))?.[1]);
