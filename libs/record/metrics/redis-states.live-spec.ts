import { connectShards, type Shards } from '@relay/redis';
import { ThrottledLog, type Log } from '@relay/telemetry';
import { ClusterServers, redisOfSpec } from '@relay/testing';
import { Registry } from 'prom-client';
import { registerShardGauges } from './gauges.js';
import { readShards } from './redis-states.adapter.js';

const silent: Log = { error() {}, warn() {}, info() {}, debug() {} };
const { server } = await redisOfSpec();
const opened: Shards[] = [];
afterAll(() => {
  for (const { redis } of opened.flatMap(({ all }) => all)) redis.disconnect();
});

function connect(settings: object, count: number): Shards {
  const shards = connectShards(
    { REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '', REDIS_SHARDS: count, ...settings },
    'queue',
    () => undefined,
  );
  opened.push(shards);
  return shards;
}

describe('the state of shards', () => {
  it('is not read where there is one, and is no cluster’s on one server', async () => {
    expect(await readShards(connect({ REDIS_URL: server.url() }, 1))).toEqual([]);
    const shards = connect({ REDIS_URL: server.url() }, 2);
    await shards.all[1]?.redis.lpush(shards.all[1].key('deliveries', 'wait'), 'a', 'b');
    const [first, second] = await readShards(shards);
    expect([first?.jobs['deliveries'], second?.jobs['deliveries']]).toEqual([0, 2]);
    expect(second).toMatchObject({ server: first?.server, memory: { max: 0 } });
    expect(second?.cluster).toBeUndefined();
    expect(second?.memory.used).toBeGreaterThan(100_000);
  });

  it('names the server of each in a cluster, and leaves out the shard whose node is frozen', async () => {
    const servers = await ClusterServers.start();
    try {
      const nodes = { REDIS_CLUSTER_NODES: servers.names, REDIS_PASSWORD: servers.password };
      const shards = connect(nodes, 3);
      const before = await readUntilAll(shards);
      expect(new Set(before.map((state) => state?.server)).size).toBe(3);
      for (const state of before) expect(state?.cluster).toEqual({ isOk: true, primaries: 3 });
      // The node of the second shard, which keeps its slots.
      const [node, , , replica] = servers.all;
      await replica?.look.config('SET', 'cluster-replica-no-failover', 'yes');
      node?.server.process.kill('SIGSTOP');
      const registry = new Registry();
      registerShardGauges(registry, () => readShards(shards), new ThrottledLog(silent));
      const text = await registry.metrics();
      node?.server.process.kill('SIGCONT');
      // Given up before the reading as a whole is, which would leave out the others too.
      expect(text.match(/^relay_shard_up.*$/gm)).toEqual([
        'relay_shard_up{shard="0"} 1',
        'relay_shard_up{shard="1"} 0',
        'relay_shard_up{shard="2"} 1',
      ]);
    } finally {
      await servers.close();
    }
  });
});

/** Connections are made meanwhile. */
async function readUntilAll(shards: Shards): Promise<Awaited<ReturnType<typeof readShards>>> {
  for (let tries = 0; tries < 60; tries += 1) {
    const states = await readShards(shards);
    if (states.every((state) => state !== undefined)) return states;
  }
  throw new Error('not all shards answer');
}
