import type { ThrottledLog } from '@relay/telemetry';
import type { Registry } from 'prom-client';
import type { ShardState } from './shard-states.adapter.js';
import { StoreReading, type Sample } from './store-reading.js';

type States = readonly (ShardState | undefined)[];

const SHARED = 'The same from every worker: take max(), not sum().';

/**
 * Registers the gauges of the shards and of the cluster that they are in. With one shard none has a value.
 * @param read the state of each shard, undefined where it does not answer this process; none where there is one shard
 */
export function registerShardGauges(registry: Registry, read: () => Promise<States>, log: ThrottledLog): void {
  new StoreReading(registry, log, 'shards', read)
    .gauge('relay_shard_up', '1 while the shard answers this worker: take min().', ['shard'], (states) =>
      states.map((state, shard) => [{ shard: String(shard) }, state === undefined ? 0 : 1]),
    )
    .gauge(
      'relay_shard_jobs',
      `Jobs of the shard by queue, in whatever state. ${SHARED}`,
      ['shard', 'queue'],
      each(({ jobs }, shard) => Object.entries(jobs).map(([queue, count]): Sample => [{ shard, queue }, count])),
    )
    .gauge(
      'relay_shard_memory_used_bytes',
      `Memory that the server of the shard uses. ${SHARED}`,
      ['shard'],
      each(({ memory }, shard) => [[{ shard }, memory.used]]),
    )
    .gauge(
      'relay_shard_memory_max_bytes',
      `maxmemory of the server of the shard; 0: it has no limit. ${SHARED}`,
      ['shard'],
      each(({ memory }, shard) => [[{ shard }, memory.max]]),
    )
    .gauge(
      'relay_cluster_ok',
      '1 while every node of the Redis Cluster that has a shard says that its state is ok, by this worker: take min().',
      [],
      (states) => clustersOf(states, (clusters) => Math.min(...clusters.map(({ isOk }) => Number(isOk)))),
    )
    .gauge('relay_cluster_primaries', `Primaries of the Redis Cluster that have slots. ${SHARED}`, [], (states) =>
      clustersOf(states, (clusters) => Math.max(...clusters.map(({ primaries }) => primaries))),
    )
    .gauge(
      'relay_cluster_shards_most',
      `Shards on the node of the Redis Cluster that has most of them. ${SHARED}`,
      [],
      (states) => clustersOf(states, () => most(states)),
    );
}

const each =
  (samples: (state: ShardState, shard: string) => Sample[]) =>
  (states: States): Sample[] =>
    states.flatMap((state, shard) => (state === undefined ? [] : samples(state, String(shard))));

type Clusters = readonly NonNullable<ShardState['cluster']>[];

/** No sample where no server is one of a cluster. */
function clustersOf(states: States, value: (clusters: Clusters) => number): Sample[] {
  const clusters = states.flatMap((state) => state?.cluster ?? []);
  return clusters.length === 0 ? [] : [[{}, value(clusters)]];
}

function most(states: States): number {
  const counts = new Map<string, number>();
  for (const state of states) if (state !== undefined) counts.set(state.server, (counts.get(state.server) ?? 0) + 1);
  return Math.max(...counts.values());
}
