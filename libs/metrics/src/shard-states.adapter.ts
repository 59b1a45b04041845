import { countJobs, DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE } from '@relay/jobs';
import { answeredWithin } from '@relay/kafka';
import type { Shard, Shards } from '@relay/redis';
import { memoryIn, type RedisMemory } from './redis-memory.adapter.js';

/** Shorter than a scrape waits, and than a frozen server keeps its connections. */
const PATIENCE_MS = 2_000;

/** What one shard answers. */
export interface ShardState {
  /** `run_id` of the server that it is on. */
  readonly server: string;
  /** Of that server. */
  readonly memory: RedisMemory;
  /** Jobs by queue. */
  readonly jobs: Readonly<Record<string, number>>;
  /** What that server says of its cluster; undefined without one, and where it refuses to. */
  readonly cluster?: { readonly isOk: boolean; readonly primaries: number };
}

/** The state of each shard in their order, undefined where it does not answer; empty where there is one shard. */
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

/** An error only where the user has no right to ask: the shard itself has answered. */
async function clusterOf({ redis }: Shard): Promise<ShardState['cluster']> {
  const said = await redis.cluster('INFO').catch(() => '');
  const [, state] = /^cluster_state:(\w+)/m.exec(said) ?? [];
  const primaries = Number(/^cluster_size:(\d+)/m.exec(said)?.[1] ?? 0);
  return state === undefined ? undefined : { isOk: state === 'ok', primaries };
}
