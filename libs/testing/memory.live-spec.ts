import { RedisSeenStore } from '@relay/dedupe';
import { RedisPartitionProgress } from '@relay/progress';
import { connectRedis, redisReady, shardsOn, oneShard } from '@relay/redis';
import { Replays } from '@relay/replays';
import type { Redis } from 'ioredis';
import { describeReplays } from './contracts/replays.contract.js';
import {
  describePublisher,
  describeRegistryLog,
  describeSeenStore,
  MemoryPartitionProgress,
  MemoryPublisher,
  MemoryRegistryLog,
  MemoryReplays,
  MemorySeenStore,
  MemoryState,
  startRedisServer,
  type RedisServer,
} from './index.js';

describePublisher('MemoryPublisher', 'memory', async () => {
  const publisher = new MemoryPublisher();
  return {
    publisher,
    createTopic: async (topic, partitions) => publisher.createTopic(topic, partitions),
    hasTopic: async (topic) => publisher.hasTopic(topic),
    read: async (topic) => publisher.read(topic),
  };
});

describeRegistryLog('MemoryRegistryLog', async () => new MemoryRegistryLog());

describeSeenStore('MemorySeenStore', async () => new MemorySeenStore());

for (const count of [1, 3])
  describeReplays(`MemoryReplays over ${count} shards`, count, async () => {
    const global = new MemoryState();
    const states = count === 1 ? [global] : Array.from({ length: count }, () => new MemoryState());
    return {
      replays: new MemoryReplays(global, states),
      progress: states.map((state) => new MemoryPartitionProgress(state)),
    };
  });

describe('with a redis-server', () => {
  let server: RedisServer;
  let redis: Redis;
  beforeAll(async () => {
    server = await startRedisServer();
    const settings = { REDIS_URL: server.url(), REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '' };
    redis = connectRedis(settings, 'command', () => undefined);
    await redisReady(redis, () => undefined);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  for (const count of [1, 3])
    describeSeenStore(
      `RedisSeenStore over ${count} shards`,
      async () => new RedisSeenStore(shardsOn(redis, count), 72 * 3_600_000),
    );

  for (const count of [1, 3])
    describeReplays(`Replays over ${count} shards`, count, async () => {
      await redis.flushall();
      const shards = shardsOn(redis, count);
      return {
        replays: new Replays(redis, shards),
        progress: shards.all.map((shard) => new RedisPartitionProgress(shard, 72 * 3_600_000)),
      };
    });

  it('gives no series of a replay a second time, though Redis has lost which it gave', async () => {
    const replays = new Replays(redis, oneShard(redis));
    const keyOfNew = async (now: number): Promise<string> => {
      await redis.flushall();
      const ranges = [{ topic: 'task.created', partition: 0, from: 0, end: 9 }];
      const of = { webhookId: 'a', partnerId: 'p', eventType: 'task.created', status: 'all' as const };
      await replays.create({ id: 'one', ...of, since: undefined, until: undefined, orderedBy: 'partner' }, ranges, now);
      return [...(await replays.orders()).keys].join(' ');
    };
    const now = 1_795_350_961_144;
    expect([await keyOfNew(now), await keyOfNew(now + 1_000)]).toEqual(['a/1795350961000', 'a/1795350962000']);
  });
});
