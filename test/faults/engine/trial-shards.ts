import { connectRedis, connectShards, type Shards } from '@relay/redis';
import type { Stack } from '../../support/stack.js';

/** The shards of a trial's relay, to look at. The caller ends their connections where they are not the stack's. */
export function shardsOf({ env, shards }: Stack): Shards {
  if (env['REDIS_CLUSTER_NODES'] === undefined) return shards;
  const settings = {
    REDIS_SENTINELS: [],
    REDIS_SENTINEL_NAME: '',
    REDIS_CLUSTER_NODES: env['REDIS_CLUSTER_NODES'].split(','),
    REDIS_PASSWORD: env['REDIS_PASSWORD'],
    REDIS_SHARDS: Number(env['REDIS_SHARDS'] ?? 1),
  };
  const ignored = (): void => undefined;
  return connectShards(settings, 'command', ignored, connectRedis(settings, 'command', ignored));
}
