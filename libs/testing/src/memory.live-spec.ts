import { RedisSeenStore } from '@relay/dedupe';
import { connectRedis, redisReady } from '@relay/redis';
import type { Redis } from 'ioredis';
import {
  describePublisher,
  describeRegistryLog,
  describeSeenStore,
  MemoryPublisher,
  MemoryRegistryLog,
  MemorySeenStore,
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

  describeSeenStore('RedisSeenStore', async () => new RedisSeenStore(redis, 72 * 3_600_000));
});
