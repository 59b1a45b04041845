import { connectRedis, connectShards, type Shards } from '@relay/redis';
import type { Settings } from './stack.js';

/** The shards of a relay with these settings, to look at. The caller ends their connections. */
export function shardsOf(env: Settings): Shards {
  const listed = (name: string): string[] => env[name]?.split(',') ?? [];
  const settings = {
    REDIS_URL: env['REDIS_URL'],
    REDIS_SENTINELS: listed('REDIS_SENTINELS'),
    REDIS_SENTINEL_NAME: env['REDIS_SENTINEL_NAME'] ?? '',
    REDIS_CLUSTER_NODES: listed('REDIS_CLUSTER_NODES'),
    REDIS_PASSWORD: env['REDIS_PASSWORD'],
    REDIS_SENTINEL_PASSWORD: env['REDIS_SENTINEL_PASSWORD'],
    REDIS_SHARDS: Number(env['REDIS_SHARDS'] ?? 1),
  };
  const ignored = (): void => undefined;
  return connectShards(settings, 'command', ignored, connectRedis(settings, 'command', ignored));
}
