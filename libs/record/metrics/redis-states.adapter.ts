import { countJobs, DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE } from '@relay/jobs';
import { answeredWithin } from '@relay/kafka';
import { readDisk, type Shard, type Shards } from '@relay/redis';
import type { Redis } from 'ioredis';

/** Memory of a Redis server in bytes; `max` is 0 if the server has no limit. */
export interface RedisMemory {
  readonly used: number;
  readonly max: number;
}

export const readMemory = async (redis: Redis): Promise<RedisMemory> => memoryIn(await redis.info('memory'));

/** @param info reply to the INFO command */
function memoryIn(info: string): RedisMemory {
  const bytesOf = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  return { used: bytesOf('used_memory'), max: bytesOf('maxmemory') };
}

/** Returns the memory of the server that is closest to its limit. */
export const fullestMemory = async (shards: Pick<Shards, 'connections'>): Promise<RedisMemory> =>
  fullestOf(await Promise.all(shards.connections.map(readMemory)));

/** Returns the memory that is closest to its limit. @param all at least one */
export const fullestOf = (all: readonly RedisMemory[]): RedisMemory =>
  all.reduce((most, each) => (shareOf(each) > shareOf(most) ? each : most));

const shareOf = ({ used, max }: RedisMemory): number => (max === 0 ? 0 : used / max);

export interface RedisDisks {
  /** Whether all servers write to their disks without faults. */
  readonly isWell: boolean;
  /** Uptime in seconds of the server that was started last. */
  readonly uptimeS: number;
}

export async function readDisks({ servers }: Pick<Shards, 'servers'>): Promise<RedisDisks> {
  const all = await Promise.all(servers.map(readDisk));
  return {
    isWell: all.every(({ fault }) => fault === undefined),
    uptimeS: Math.min(...all.map(({ uptimeS }) => uptimeS)),
  };
}

/**
 * Maximum wait for a shard in ms. It is shorter than the timeout of a scrape, and than the time after which the connection
 * to a frozen server is closed.
 */
const PATIENCE_MS = 2_000;

export interface ShardState {
  /** `run_id` of the server that has the shard. */
  readonly server: string;
  readonly memory: RedisMemory;
  readonly jobs: Readonly<Record<string, number>>;
  /**
   * The state of the Redis Cluster as this server sees it; undefined without a cluster, or if the server refuses the
   * command.
   */
  readonly cluster?: { readonly isOk: boolean; readonly primaries: number };
}

/**
 * Returns the states of the shards in order, undefined for a shard that does not answer. With one shard, the list is empty.
 */
export async function readShards(shards: Shards): Promise<readonly (ShardState | undefined)[]> {
  if (shards.all.length === 1) return [];
  return Promise.all(
    shards.all.map((shard) =>
      answeredWithin(PATIENCE_MS, stateOf(shard), () => new Error('no answer')).catch(() => undefined),
    ),
  );
}

async function stateOf(shard: Shard): Promise<ShardState> {
  const [info, deliveries, deadLetters] = await Promise.all([
    shard.redis.info(),
    countJobs(shard, DELIVERIES_QUEUE),
    countJobs(shard, DEAD_LETTERS_QUEUE),
  ]);
  const cluster = /^cluster_enabled:1/m.test(info) ? await clusterOf(shard) : undefined;
  return {
    server: /^run_id:(\S+)/m.exec(info)?.[1] ?? '',
    memory: memoryIn(info),
    jobs: { [DELIVERIES_QUEUE]: deliveries, [DEAD_LETTERS_QUEUE]: deadLetters },
    ...(cluster === undefined ? {} : { cluster }),
  };
}

/**
 * Returns the cluster's state; undefined if this user may not ask for it. That is no fault, because the shard itself has
 * answered.
 */
async function clusterOf({ redis }: Shard): Promise<ShardState['cluster']> {
  const said = await redis.cluster('INFO').catch(() => '');
  const [, state] = /^cluster_state:(\w+)/m.exec(said) ?? [];
  const primaries = Number(/^cluster_size:(\d+)/m.exec(said)?.[1] ?? 0);
  return state === undefined ? undefined : { isOk: state === 'ok', primaries };
}
