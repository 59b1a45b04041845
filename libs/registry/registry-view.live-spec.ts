import { once } from 'node:events';
import { MemoryRegistryLog, memoryRegistry, startRedisServer, type RedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import { REGISTRY_APPLIED, RegistryUnavailable } from '@relay/redis';
import { RegistryView } from './index.js';
import { RESULTS } from './registry.script.js';
import { aClient, aDeletion, aWebhook, snapshot } from './spec-commands.js';

let server: RedisServer;
let redis: Redis;
let log: MemoryRegistryLog;
let registry: RegistryView;

beforeAll(async () => {
  server = await startRedisServer();
});
beforeEach(async () => {
  redis = new Redis(server.url());
  await once(redis, 'ready');
  await redis.flushdb();
  log = new MemoryRegistryLog();
  registry = memoryRegistry(redis, log);
});
afterEach(() => redis.disconnect());
afterAll(() => server.stop());

const applied = async (): Promise<number> => Number((await redis.get(REGISTRY_APPLIED)) ?? -1);
const logged = (entity: string, command: object, id: string, at?: number): Promise<number | undefined> =>
  log.append(id, Buffer.from(JSON.stringify({ v: 1, id, entity, at, command })));
/** What Redis holds after the log was applied to an empty one. */
const rebuilt = async (): Promise<unknown> => {
  await redis.flushdb();
  await memoryRegistry(redis, log).catchUp();
  return snapshot(redis);
};

describe('RegistryView', () => {
  it('appends a command, applies it, and keeps the offset beside the data', async () => {
    expect(await registry.change('webhook', aWebhook('a'))).toEqual({ kind: 'created', id: 'a', version: 1 });
    expect(await registry.change('client', aClient('c'))).toEqual({ kind: 'inserted' });
    expect(await registry.change('webhook', aWebhook('b', 'a'))).toEqual({ kind: 'exists', id: 'a' });
    expect(log.commands).toHaveLength(3);
    expect(await applied()).toBe(2);
    const state = await snapshot(redis);
    expect(await rebuilt()).toEqual(state);
  });

  it('restores an emptied Redis at the first read of a new connection', async () => {
    for (const id of ['a', 'b', 'c']) await registry.change('webhook', aWebhook(id));
    const state = await snapshot(redis);
    await registry.current();
    await redis.flushdb();
    await registry.current(); // no new connection: nothing is asked
    expect(await applied()).toBe(-1);
    redis.disconnect(true);
    await once(redis, 'ready');
    await registry.current();
    expect(await snapshot(redis)).toEqual(state);
  });

  it('waits for commands of others that are under way, and reads those whose sender has died', async () => {
    const id = '11111111-1111-4111-8111-111111111111';
    await logged('webhook', aWebhook('a'), id);
    expect(await registry.change('webhook', aWebhook('b'))).toMatchObject({ kind: 'created', version: 2 });
    expect(await applied()).toBe(1);
  });

  it('applies a command that the log holds twice once, and answers the first result', async () => {
    log.storesTwice = true;
    expect(await registry.change('webhook', aWebhook('a'))).toMatchObject({ kind: 'created' });
    expect(await registry.change('webhook', aDeletion('a'))).toMatchObject({ kind: 'deleted' });
    expect(await registry.change('webhook', aWebhook('a'))).toMatchObject({ kind: 'created', version: 3 });
    expect(log.commands).toHaveLength(6);
    const state = await snapshot(redis);
    expect(await rebuilt()).toEqual({ ...(state as object), [REGISTRY_APPLIED]: '5' });
  });

  it('answers also when the log reports no offset, or another process applied the command', async () => {
    log.hidesOffsets = true;
    expect(await registry.change('webhook', aWebhook('a'))).toMatchObject({ kind: 'created' });
    log.hidesOffsets = false;
    const other = memoryRegistry(redis, log);
    const append = log.append.bind(log);
    log.append = async (id, value) => {
      const offset = await append(id, value);
      await other.catchUp();
      return offset;
    };
    expect(await registry.change('webhook', aWebhook('b'))).toMatchObject({ kind: 'created', version: 2 });
  });

  it('gives 200 changes of four processes each their own result', async () => {
    const connections = await Promise.all(
      [1, 2, 3, 4].map(async () => {
        const connection = new Redis(server.url());
        await once(connection, 'ready');
        return connection;
      }),
    );
    const registries = connections.map((connection) => memoryRegistry(connection, log));
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, n) =>
        (registries[n % 4] ?? registry).change('webhook', aWebhook(`w${n % 100}`, `u${n % 50}`)),
      ),
    );
    connections.forEach((connection) => connection.disconnect());
    const kinds = results.map((result) => (result as { kind: string }).kind);
    expect(kinds.filter((kind) => kind === 'created')).toHaveLength(50);
    expect(kinds.filter((kind) => kind === 'exists')).toHaveLength(150);
    const state = await snapshot(redis);
    expect(await rebuilt()).toEqual(state);
  });

  it('skips a record that is no command, and stops at a command of a newer relay', async () => {
    for (const text of ['', 'no JSON', '"text"', '{"v":1}', '[]']) await log.append('x', Buffer.from(text));
    expect(await registry.change('webhook', aWebhook('a'))).toMatchObject({ kind: 'created' });
    expect(await applied()).toBe(5);
    await log.append('y', Buffer.from('{"v":2,"id":"y","entity":"webhook","command":{}}'));
    await expect(registry.change('webhook', aWebhook('b'))).rejects.toThrow('newer relay');
    await expect(registry.catchUp()).rejects.toThrow('command at 6');
    expect(await applied()).toBe(5);
  });

  it('answers a command that cannot be applied as failed, and goes on', async () => {
    expect(await registry.change('webhook', { kind: 'nonsense' })).toEqual({ kind: 'failed' });
    expect(await registry.change('client', aClient('c'))).toEqual({ kind: 'inserted' });
  });

  it('takes no change while Redis has applied more than the log holds, says so, and goes on when an operator has decided', async () => {
    for (const id of ['a', 'b']) await registry.change('webhook', aWebhook(id));
    const lines: string[] = [];
    log.commands.length = 0;
    const other = new RegistryView(redis, log, {
      error: (event) => void lines.push(event),
      warn: () => {},
      info: () => {},
      debug: () => {},
    });
    await other.current();
    expect(other.fault).toContain('ends at 0');
    expect(lines).toEqual(['registry.foreign']);
    const refused = other.change('webhook', aWebhook('c'));
    await expect(refused).rejects.toMatchObject({ name: 'RegistryUnavailable', mayBeStored: false });
    expect(log.commands).toHaveLength(0);
    // One that had not noticed yet finds its own command behind what is applied.
    await expect(registry.change('webhook', aWebhook('c'))).rejects.toMatchObject({ mayBeStored: true });
    expect(registry.fault).toBeDefined();
    await redis.del(REGISTRY_APPLIED);
    expect(await registry.change('webhook', aWebhook('d'))).toMatchObject({ kind: 'created' });
    expect(registry.fault).toBeUndefined();
  });

  it('refuses within its deadline while the log or Redis is away, and says whether the change may be stored', async () => {
    log.failure = new Error('Kafka is away');
    // Nothing is sent before Redis is known to be this deployment's.
    await expect(registry.change('webhook', aWebhook('a'))).rejects.toMatchObject({ mayBeStored: false });
    log.failure = undefined;
    await registry.current();
    log.failure = new Error('Kafka is away');
    const change = registry.change('webhook', aWebhook('a'));
    await expect(change).rejects.toThrow(RegistryUnavailable);
    await expect(change).rejects.toMatchObject({ mayBeStored: true });
    await expect(registry.catchUp()).rejects.toMatchObject({ mayBeStored: false });
    log.failure = undefined;
    redis.disconnect();
    await once(redis, 'end');
    await expect(registry.change('webhook', aWebhook('a'))).rejects.toMatchObject({ mayBeStored: false });
    expect(log.commands).toHaveLength(0);
  });

  const RESULTS_KEY = '{relay:0}:registry:results';
  const remembered = async (...ids: string[]): Promise<boolean[]> =>
    Promise.all(ids.map(async (id) => (await redis.hexists(RESULTS_KEY, id)) === 1));

  it('remembers a bounded number of results, the latest, in a few megabytes', async () => {
    for (let n = 0; n < RESULTS.most + 5; n += 1) await logged('webhook', aWebhook('a'), `id-${n}`, 1);
    await registry.catchUp();
    expect(await redis.hlen(RESULTS_KEY)).toBe(RESULTS.most);
    expect(await redis.zcard(`${RESULTS_KEY}:order`)).toBe(RESULTS.most);
    expect(await remembered('id-4', 'id-5', `id-${RESULTS.most + 4}`)).toEqual([false, true, true]);
    const bytes = [RESULTS_KEY, `${RESULTS_KEY}:order`].map((key) =>
      redis.call('MEMORY', 'USAGE', key, 'SAMPLES', '0'),
    );
    const used = (await Promise.all(bytes)).reduce<number>((sum, each) => sum + Number(each), 0);
    expect(used).toBeLessThan(5_000_000);
  });

  it('forgets results when a minute of the commands’ own time has passed, but for the latest thousand', async () => {
    for (let n = 0; n < RESULTS.least + 100; n += 1) await logged('webhook', aDeletion('none'), `id-${n}`, 1_000);
    await registry.catchUp();
    expect(await redis.hlen(RESULTS_KEY)).toBe(RESULTS.least + 100);
    await logged('webhook', aDeletion('none'), 'late', 1_000 + RESULTS.ms + 1);
    // The sender's clock is behind by hours: its own result is there all the same.
    await logged('webhook', aDeletion('none'), 'behind', 0);
    await registry.catchUp();
    // A command lets only a few go, so that none of them holds Redis up.
    expect(await redis.hlen(RESULTS_KEY)).toBe(RESULTS.least + 102 - 2 * RESULTS.gone);
    for (let n = 0; n < 10; n += 1) await logged('webhook', aDeletion('none'), `later-${n}`, 1_000 + RESULTS.ms + 1);
    await registry.catchUp();
    expect(await redis.hlen(RESULTS_KEY)).toBe(RESULTS.least);
    expect(await remembered('id-111', 'id-112', 'late', 'behind')).toEqual([false, true, true, true]);
    const state = await snapshot(redis);
    expect(await rebuilt()).toEqual(state);
  });
});
