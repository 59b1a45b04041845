import { once } from 'node:events';
import { archivedRecord, changedTo, EventTypeInput, EventTypeStore } from '@relay/event-types';
import { MemoryRegistryLog, memoryRegistry, startRedisServer, type RedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import { RegistryCompaction, RegistryView } from './index.js';
import { aClient, aDeletion, anUpdate, aWebhook, snapshot as stateOf } from './spec-commands.js';

let server: RedisServer;
let redis: Redis;
let log: MemoryRegistryLog;
let registry: RegistryView;
let compaction: RegistryCompaction;
let lines: string[];
const told = {
  error: (event: string) => void lines.push(event),
  warn: (event: string) => void lines.push(event),
  info: () => {},
  debug: () => {},
};

beforeAll(async () => {
  server = await startRedisServer();
});
beforeEach(async () => {
  redis = new Redis(server.url());
  redis.setMaxListeners(0);
  await once(redis, 'ready');
  await redis.flushdb();
  lines = [];
  log = new MemoryRegistryLog();
  registry = new RegistryView(redis, log, told);
  compaction = new RegistryCompaction(redis, log, registry, told, () => 7);
});
afterEach(() => redis.disconnect());
afterAll(() => server.stop());

const order = (command: Parameters<RegistryView['order']>[0]): Promise<unknown> => registry.order(command);
/** What Redis holds after all that was ever appended was applied to an empty one. */
async function fromTheFirst(): Promise<unknown> {
  const all = new MemoryRegistryLog();
  all.commands.push(...log.commands);
  await redis.flushdb();
  await memoryRegistry(redis, all).catchUp();
  return stateOf(redis);
}
const fromWhatIsLeft = async (): Promise<unknown> => {
  await redis.flushdb();
  await memoryRegistry(redis, log).catchUp();
  return stateOf(redis);
};
async function changeAll(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    await registry.change('webhook', aWebhook(`w${n}`));
    await registry.change('client', aClient(`c${n}`, `h${n}`));
    await registry.change('webhook', anUpdate(`w${n}`, `moved-${n}`, n));
    if (n % 3 === 0) await registry.change('webhook', aDeletion(`w${n}`));
  }
}

describe('RegistryCompaction', () => {
  it('deletes the records that its snapshot replaces, and the rest restores the very same Redis', async () => {
    await changeAll(150);
    const before = await stateOf(redis);
    const begin = log.commands.length;
    expect(await compaction.grown()).toBe(begin);
    expect(await compaction.compact()).toMatchObject({ kind: 'compacted', begin, freed: true });
    expect(await log.bounds()).toEqual({ start: begin, end: log.commands.length });
    expect(await compaction.grown()).toBe(0);
    expect(await compaction.last()).toMatchObject({ begin, end: log.commands.length - 1, at: 7 });
    await changeAll(5);
    const state = await stateOf(redis);
    expect(await fromWhatIsLeft()).toEqual(state);
    expect(await fromTheFirst()).toEqual(state);
    expect(Object.keys(state as object).length).toBeGreaterThanOrEqual(Object.keys(before).length);
  });

  it('compacts a registry in which nothing was ever registered, and one after another', async () => {
    for (let n = 0; n < 3; n += 1) {
      expect(await compaction.compact()).toMatchObject({ kind: 'compacted' });
      expect(await fromWhatIsLeft()).toEqual(await fromTheFirst());
      await registry.catchUp();
      await registry.change('webhook', aWebhook(`w${n}`));
    }
  });

  it('keeps the results of commands, so that a repeat after the snapshot is not applied', async () => {
    await registry.change('webhook', aWebhook('a'));
    const repeated = log.commands.at(-1) as Buffer;
    await compaction.compact();
    await registry.change('webhook', aDeletion('a'));
    await log.append('x', repeated);
    expect(await fromWhatIsLeft()).toEqual(await fromTheFirst());
    expect(await redis.hlen('{relay:0}:webhooks')).toBe(0);
  });

  it('lets no change take effect while a snapshot is made; its sender waits and sends it again', async () => {
    await registry.change('webhook', aWebhook('a'));
    expect(await order({ kind: 'begin', snapshot: 's' })).toMatchObject({ kind: 'begun' });
    const other = memoryRegistry(redis, log);
    // Appended by one that had not seen the snapshot's beginning.
    await log.append('y', Buffer.from(JSON.stringify({ v: 1, id: 'y', entity: 'webhook', command: aDeletion('a') })));
    await other.catchUp();
    expect(await redis.hlen('{relay:0}:webhooks')).toBe(1);
    const change = registry.change('webhook', aWebhook('b'));
    expect(await compaction.compact()).toEqual({ kind: 'busy' });
    await order({ kind: 'abort', snapshot: 's' });
    expect(await change).toMatchObject({ kind: 'created' });
    expect(log.start).toBe(0);
  });

  it.each(['lacks', 'repeats', 'alters'])('refuses a snapshot that %s an item, and deletes nothing', async (what) => {
    await changeAll(3);
    const restore = registry.restore.bind(registry);
    registry.restore = (snapshot, records) =>
      restore(
        snapshot,
        records.map((record) => {
          if (record.kind !== 'restore' || record.part !== 'webhooks') return record;
          const [id = '', json = ''] = record.items;
          if (what === 'lacks') return { ...record, items: record.items.slice(2) };
          if (what === 'repeats') return { ...record, items: [...record.items.slice(2), ...record.items.slice(2, 4)] };
          return { ...record, items: [id, json.replace('moved', 'other'), ...record.items.slice(2)] };
        }),
      );
    expect(await compaction.compact()).toMatchObject({ kind: 'refused', reason: expect.stringContaining('webhooks') });
    expect(lines).toEqual(['registry.snapshot_refused']);
    expect(log.start).toBe(0);
    expect(await registry.change('webhook', aWebhook('later'))).toMatchObject({ kind: 'created' });
  });

  it('gives up a snapshot that another process has given up, and deletes nothing', async () => {
    await changeAll(3);
    const restore = registry.restore.bind(registry);
    registry.restore = async (snapshot, records) => {
      await order({ kind: 'abort', snapshot });
      return restore(snapshot, records);
    };
    expect(await compaction.compact()).toEqual({ kind: 'given-up' });
    expect(log.start).toBe(0);
    expect(await fromTheFirst()).toEqual(await fromWhatIsLeft());
  });

  it('reports that it may not delete, and later deletes the records that an earlier snapshot replaces', async () => {
    await changeAll(3);
    log.keepsAll = true;
    expect(await compaction.compact()).toMatchObject({ kind: 'compacted', freed: false });
    expect(lines).toEqual(['registry.not_freed']);
    log.keepsAll = false;
    expect(await compaction.free()).toBe(true);
    expect(log.start).toBeGreaterThan(0);
  });

  it('lets nothing go from another log than that of its snapshot', async () => {
    await changeAll(3);
    log.keepsAll = true;
    await compaction.compact();
    log.keepsAll = false;
    log.commands.splice(1, 1);
    log.commands.push(Buffer.from('x'), Buffer.from('y'));
    expect(await compaction.free()).toBe(false);
    expect(log.start).toBe(0);
  });

  it('rebuilds a Redis older than the rest of the log, by several processes at once, also after one died', async () => {
    await changeAll(20);
    const old = await Promise.all(
      (await redis.keys('*')).map(async (name) => [name, await redis.dumpBuffer(name)] as const),
    );
    await changeAll(40);
    await compaction.compact();
    await changeAll(2);
    const state = await stateOf(redis);
    await redis.flushdb();
    for (const [name, dump] of old) await redis.restore(name, 0, dump);
    // One that died after the first key it removed.
    await redis.set('{relay:0}:registry:rebuilding', `empty ${log.start}`);
    await redis.del('{relay:0}:webhooks');
    await Promise.all([1, 2, 3].map(() => memoryRegistry(redis, log).current()));
    expect(await stateOf(redis)).toEqual(state);
  });

  it('touches no Redis where the log begins with no whole snapshot, and says so', async () => {
    await changeAll(4);
    const state = await stateOf(redis);
    await redis.set('{relay:0}:registry:applied', 2);
    log.start = 5;
    await expect(memoryRegistry(redis, log).current()).rejects.toThrow('no snapshot stands for them');
    await redis.set('{relay:0}:registry:applied', log.commands.length - 1);
    expect(await stateOf(redis)).toEqual(state);
    // A snapshot that was never ended is none.
    await order({ kind: 'begin', snapshot: 's' });
    log.start = log.commands.length - 1;
    await redis.set('{relay:0}:registry:applied', 2);
    await expect(memoryRegistry(redis, log).current()).rejects.toThrow('no snapshot stands for them');
  });

  it('does not show a snapshot of which a record is missing', async () => {
    await changeAll(150);
    await compaction.compact();
    const lost = log.commands.findIndex((value) => value.includes('"restore"') && value.includes('"webhooks"'));
    const [record] = log.commands.splice(lost, 1, Buffer.from('lost'));
    await redis.flushdb();
    await expect(memoryRegistry(redis, log).current()).rejects.toThrow('no snapshot stands for them');
    // Nor one that lost an item within a record.
    const command = JSON.parse(String(record)) as { command: { items: string[] } };
    command.command.items.splice(0, 2);
    log.commands[lost] = Buffer.from(JSON.stringify(command));
    await expect(memoryRegistry(redis, log).current()).rejects.toThrow('is not whole');
    log.commands[lost] = record as Buffer;
    await redis.flushdb();
    await memoryRegistry(redis, log).current();
  });

  it('fills a Redis from a copy of the log that begins with a snapshot at offset 0', async () => {
    await changeAll(10);
    await compaction.compact();
    await changeAll(2);
    const webhooks = await redis.hgetall('{relay:0}:webhooks');
    const copy = new MemoryRegistryLog();
    copy.commands.push(...log.commands.slice(log.start));
    await redis.flushdb();
    await memoryRegistry(redis, copy).current();
    expect(await redis.hgetall('{relay:0}:webhooks')).toEqual(webhooks);
    // Also one that holds something but does not know of any log.
    await redis.del('{relay:0}:registry:applied');
    await redis.hdel('{relay:0}:webhooks', 'w1');
    await memoryRegistry(redis, copy).current();
    expect(await redis.hgetall('{relay:0}:webhooks')).toEqual(webhooks);
  });

  it('sees that records go while it reads them, and applies nothing behind the gap', async () => {
    await changeAll(20);
    const state = await stateOf(redis);
    await redis.flushdb();
    const other = memoryRegistry(redis, log);
    const read = log.read.bind(log);
    log.read = (from, end, take) => {
      log.start = 10;
      return read(from, end, take);
    };
    await expect(other.current()).rejects.toThrow('went meanwhile');
    expect(await redis.get('{relay:0}:registry:applied')).toBeNull();
    log.start = 0;
    log.read = read;
    await other.current();
    expect(await stateOf(redis)).toEqual(state);
  });
});

it('former schemas of an event type survive archiving, snapshots and a lost Redis; the last 100 are kept', async () => {
  const name = 'order.paid';
  const store = new EventTypeStore(redis, registry.of('eventType'));
  for (let n = 1; n <= 104; n += 1) {
    const schema = n === 50 ? undefined : { maxProperties: n };
    const before = (await store.all()).get(name);
    const { record } = changedTo(before?.record, name, EventTypeInput.parse({ schema }), n);
    expect(await store.put(record, before)).toBe('put');
  }
  const before = (await store.all()).get(name);
  await store.put(archivedRecord(before?.record, name, 105), before);
  expect(await compaction.compact()).toMatchObject({ kind: 'compacted', freed: true });
  await redis.flushdb();
  await registry.catchUp();
  const former = await Promise.all([3, 4, 50, 103, 104].map((revision) => store.former(name, revision)));
  expect(former.map((record) => record?.schema)).toEqual([
    undefined,
    { maxProperties: 4 },
    undefined,
    { maxProperties: 103 },
    undefined,
  ]);
});
