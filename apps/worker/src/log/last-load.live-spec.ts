import { redisReady, Shard, Shards } from '@relay/redis';
import { startRedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import { LastLoad } from './reading-pause.js';

describe('the load of two shards', () => {
  it('has what the one that is away last said, and what the other one says now', async () => {
    const servers = await Promise.all([startRedisServer(), startRedisServer()]);
    const connections = servers.map(
      (server) => new Redis(server.url(), { enableOfflineQueue: false, lazyConnect: true }),
    );
    for (const connection of connections) connection.on('error', () => undefined);
    try {
      const [stays, goes] = connections.map((redis, number) => new Shard(redis, `{relay:${number}/2}`)) as [
        Shard,
        Shard,
      ];
      const load = new LastLoad(new Shards([stays, goes]));
      await expect(load.read()).rejects.toThrow(/writeable|closed/);
      await Promise.all(connections.map((redis) => redisReady(redis, () => undefined)));
      const queue = (shard: Shard, jobs: number) =>
        shard.redis.rpush(shard.key('deliveries', 'wait'), ...Array(jobs).fill('job'));
      await Promise.all([queue(stays, 3), queue(goes, 4), goes.redis.config('SET', 'maxmemory', '100mb')]);
      expect(await load.read()).toMatchObject({ queued: 7, memory: { max: 100 * 2 ** 20 } });
      await servers[1]?.stop();
      await queue(stays, 2);
      expect(await load.read()).toMatchObject({ queued: 9, memory: { max: 100 * 2 ** 20 } });
      await stays.redis.config('SET', 'maxmemory', '2mb');
      expect(await load.read()).toMatchObject({ queued: 9, memory: { max: 2 * 2 ** 20 } });
    } finally {
      for (const connection of connections) connection.disconnect();
      await Promise.all(servers.map((server) => server.stop()));
    }
  });
});
