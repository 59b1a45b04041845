import { connectRedis, connectShards, isRedisAway, globalKey, redisReady } from '@relay/redis';
import { Redis } from 'ioredis';
import { RedisCluster } from './redis-cluster.js';
import { until } from './until.js';

let cluster: RedisCluster;
const connections: Redis[] = [];
beforeAll(async () => {
  cluster = await RedisCluster.start();
});
afterAll(async () => {
  for (const connection of connections) connection.disconnect();
  await cluster?.close();
});

function connect(use: 'command' | 'queue'): Redis {
  const { REDIS_CLUSTER_NODES: nodes = '', REDIS_PASSWORD } = cluster.settings;
  const [, ...others] = nodes.split(',');
  const settings = { REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '', REDIS_CLUSTER_NODES: others, REDIS_PASSWORD };
  const connection = connectRedis(settings, use, () => undefined);
  connections.push(connection);
  return connection;
}

const portOf = async (redis: Redis): Promise<number> =>
  Number(/^tcp_port:(\d+)/m.exec(await redis.info('server'))?.[1]);

describe('connectRedis with a cluster', () => {
  const key = globalKey('probe');

  it('leads to the node that serves the relay’s slot, and follows the slot when that node hands it over', async () => {
    const [command, queue] = [connect('command'), connect('queue')];
    const before = await cluster.primaryPort();
    await until('the command connection is ready', () => command.status === 'ready');
    expect([await portOf(command), await portOf(queue)]).toEqual([before, before]);
    await command.set(key, 'kept');

    await cluster.handOver();
    const after = await cluster.primaryPort();
    expect(after).not.toBe(before);
    // The old primary still answers, with MOVED: nothing else would tell these connections.
    const refused: unknown[] = [];
    const read = await until('the command connection has followed', () =>
      command.get(key).catch((error: unknown) => void refused.push(error)),
    );
    expect(read).toBe('kept');
    expect(refused.filter((error) => !isRedisAway(error))).toEqual([]);
    expect(refused.length).toBeGreaterThan(0);
    // BullMQ's connection sends the command again by itself.
    expect(await queue.get(key)).toBe('kept');
    expect([await portOf(command), await portOf(queue)]).toEqual([after, after]);
  });

  it('asks every node once for connections that are made together', async () => {
    const { REDIS_CLUSTER_NODES = '', REDIS_PASSWORD: password = '' } = cluster.settings;
    const nodes = REDIS_CLUSTER_NODES.split(',');
    const looks = nodes.map((node) => new Redis(`redis://${node}`, { password }));
    connections.push(...looks);
    const received = async (): Promise<number> => {
      const stats = await Promise.all(looks.map((look) => look.info('stats')));
      return stats.reduce((sum, text) => sum + Number(/^total_connections_received:(\d+)/m.exec(text)?.[1]), 0);
    };
    const before = await received();
    const place = { REDIS_CLUSTER_NODES: nodes, REDIS_PASSWORD: password, REDIS_SHARDS: 16 };
    const shards = connectShards(
      { REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '', ...place },
      'command',
      () => undefined,
    );
    connections.push(...shards.connections);
    await Promise.all(shards.connections.map((connection) => redisReady(connection, () => undefined)));
    // Each asking by itself would make 16 times as many; a replica may connect meanwhile.
    expect((await received()) - before).toBeLessThan(16 + 3 * nodes.length);
  });
});
