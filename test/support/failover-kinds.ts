import { AddressedRedis } from './addressed-redis.js';
import type { FailoverRedis } from './failover-redis.js';
import { RedisCluster } from './redis-cluster.js';
import { SentinelRedis } from './sentinel.js';

/** For `describe.each`: every kind of Redis that replaces a primary by itself. */
export const failoverKinds: readonly (readonly [kind: string, start: () => Promise<FailoverRedis>])[] = [
  ['one address', () => AddressedRedis.start()],
  ['sentinels', () => SentinelRedis.start()],
  ['a cluster', () => RedisCluster.start()],
  ['a cluster of three shards', () => RedisCluster.start(3)],
];
