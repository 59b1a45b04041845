import type { Redis } from 'ioredis';
import { GLOBAL_TAG } from './keys.js';
import { connectRedis, type RedisSettings, type RedisUse } from './redis-client.adapter.js';
import { Shard } from './shard.js';
import { Shards, shardsOn, shardTags } from './shards.js';

/**
 * The shards of a deployment. They share a connection where one server has them all. In a cluster each has its own, which leads to the
 * primary of its slot.
 * @param redis the connection to what is global, which they share where they can
 */
export function connectShards(
  settings: RedisSettings,
  use: RedisUse,
  onFault: (error: Error, tag: string) => void,
  redis?: Redis,
): Shards {
  const { REDIS_SHARDS: count = 1, REDIS_CLUSTER_NODES: nodes = [] } = settings;
  const connect = (tag: string): Redis => connectRedis(settings, use, (error) => onFault(error, tag), tag);
  if (count === 1 || nodes.length === 0) return shardsOn(redis ?? connect(GLOBAL_TAG), count);
  return new Shards(
    shardTags(count).map((tag) => new Shard(connect(tag), tag)),
    redis,
  );
}
