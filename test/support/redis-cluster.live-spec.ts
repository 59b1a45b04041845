import { connectRedis, isRedisAway, globalKey } from '@relay/redis';
import type { Redis } from 'ioredis';
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
});
