import { once } from 'node:events';
import { MemoryRegistryLog, memoryRegistry, startRedisServer, type RedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import { CLAIM } from './registry.script.js';
import { aWebhook, snapshot } from './spec-commands.js';

const FORMER = '{relay:0}:registry:log';

let server: RedisServer;
let redis: Redis;
beforeAll(async () => {
  server = await startRedisServer();
});
beforeEach(async () => {
  redis = new Redis(server.url());
  await once(redis, 'ready');
  await redis.flushdb();
});
afterEach(() => redis.disconnect());
afterAll(() => server.stop());

/** The log of a deployment with a registration. */
async function aDeployment(cluster: string | null, group = 'workers', topic = 'registry'): Promise<MemoryRegistryLog> {
  const log = new MemoryRegistryLog(topic, group);
  log.clusterId = cluster;
  const other = new Redis(server.url(1));
  await other.flushdb();
  await memoryRegistry(other, log).change('webhook', aWebhook(`of ${cluster} ${group}`));
  other.disconnect();
  return log;
}
const claim = (): Promise<string | null> => redis.get(CLAIM);

describe('RegistryClaim', () => {
  it.each<[string, Parameters<typeof aDeployment>]>([
    ['cluster', ['B']],
    ['cluster without an id', [null]],
    ['consumer group', ['A', 'others']],
    ['registry topic', ['A', 'workers', 'other.registry']],
  ])('refuses a deployment with another %s, which leaves no trace', async (_what, other) => {
    const first = memoryRegistry(redis, await aDeployment('A'));
    await first.current();
    const [state, claimed] = [await snapshot(redis), await claim()];
    const log = await aDeployment(...other);
    // More commands than the first has: they would all be applied.
    for (let n = 0; n < 3; n += 1) await log.append(`${n}`, Buffer.from('{}'));
    const second = memoryRegistry(redis, log);
    await expect(second.current()).rejects.toThrow('relay registry move --from-cluster A');
    await expect(second.change('webhook', aWebhook('x'))).rejects.toMatchObject({ mayBeStored: false });
    await expect(second.claim.made()).rejects.toThrow('another deployment');
    expect(second.claim.fault).toContain('Kafka cluster A, topic registry, group workers');
    expect(log.commands).toHaveLength(4);
    expect([await snapshot(redis), await claim()]).toEqual([state, claimed]);
    expect(await first.change('webhook', aWebhook('y'))).toMatchObject({ kind: 'created' });
    expect(first.claim.fault).toBeUndefined();
  });

  it('leaves an empty Redis unclaimed while its registry topic does not exist', async () => {
    const mistyped = await aDeployment('A', 'workers', 'mistyped.registry');
    mistyped.bounds = () => Promise.reject(new Error('This server does not host this topic-partition'));
    await expect(memoryRegistry(redis, mistyped).current()).rejects.toThrow('does not host');
    expect(await claim()).toBeNull();
    await memoryRegistry(redis, await aDeployment('A')).current();
    expect(JSON.parse((await claim()) ?? '')).toMatchObject({ topic: 'registry' });
  });

  it('takes the claim of an earlier version over in place, and only for the log whose commands Redis has', async () => {
    const log = await aDeployment('A');
    await memoryRegistry(redis, log).current();
    await redis.del(CLAIM);
    await redis.set(FORMER, 'registry');
    await expect(memoryRegistry(redis, await aDeployment('B')).current()).rejects.toThrow('another deployment');
    await expect(memoryRegistry(redis, await aDeployment('A', 'workers', 'other')).current()).rejects.toThrow(
      'another deployment',
    );
    expect(await claim()).toBeNull();
    await memoryRegistry(redis, log).current();
    expect(JSON.parse((await claim()) ?? '')).toEqual({ cluster: 'A', topic: 'registry', group: 'workers' });
  });

  it('tells brokers without an id apart by the commands in the log, and takes their id over when they have one', async () => {
    const log = await aDeployment(null);
    await memoryRegistry(redis, log).current();
    await expect(memoryRegistry(redis, await aDeployment(null)).current()).rejects.toThrow('another deployment');
    await memoryRegistry(redis, log).current();
    log.clusterId = 'A';
    await memoryRegistry(redis, log).current();
    expect(JSON.parse((await claim()) ?? '')).toMatchObject({ cluster: 'A' });
  });

  it('claims a Redis that was emptied under its connection again', async () => {
    const registry = memoryRegistry(redis, await aDeployment('A'));
    await registry.current();
    const claimed = await claim();
    await redis.flushdb();
    expect(await registry.change('webhook', aWebhook('y'))).toMatchObject({ kind: 'created' });
    expect(await claim()).toBe(claimed);
  });

  it('applies nothing to a Redis whose claim changed under its connection', async () => {
    const log = await aDeployment('A');
    const registry = memoryRegistry(redis, log);
    await registry.current();
    await redis.set(CLAIM, JSON.stringify({ cluster: 'B', topic: 'registry', group: 'workers' }));
    const state = await snapshot(redis);
    await expect(registry.change('webhook', aWebhook('y'))).rejects.toThrow('another deployment');
    expect(await snapshot(redis)).toEqual(state);
    expect(registry.claim.fault).toContain('another deployment');
  });
});
