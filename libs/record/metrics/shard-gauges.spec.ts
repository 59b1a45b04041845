import { ThrottledLog, type Log } from '@relay/telemetry';
import { Registry } from 'prom-client';
import { registerShardGauges } from './gauges.js';
import type { ShardState } from './redis-states.adapter.js';

const silent: Log = { error() {}, warn() {}, info() {}, debug() {} };
const state = (server: string, used: number, isOk = true): ShardState => ({
  server,
  memory: { used, max: 100 },
  jobs: { deliveries: 5, 'dead-letters': 1 },
  cluster: { isOk, primaries: 3 },
});
const scrape = async (read: () => Promise<readonly (ShardState | undefined)[]>): Promise<string[]> => {
  const registry = new Registry();
  registerShardGauges(registry, read, new ThrottledLog(silent));
  return (await registry.metrics()).split('\n').filter((line) => line.startsWith('relay_'));
};

describe('the gauges of the shards', () => {
  it('tell of each shard, and of one that does not answer only that', async () => {
    expect(await scrape(async () => [state('a', 10), undefined, state('a', 10), state('b', 20)])).toEqual([
      'relay_shard_up{shard="0"} 1',
      'relay_shard_up{shard="1"} 0',
      'relay_shard_up{shard="2"} 1',
      'relay_shard_up{shard="3"} 1',
      ...['0', '2', '3'].flatMap((shard) => [
        `relay_shard_jobs{shard="${shard}",queue="deliveries"} 5`,
        `relay_shard_jobs{shard="${shard}",queue="dead-letters"} 1`,
      ]),
      'relay_shard_memory_used_bytes{shard="0"} 10',
      'relay_shard_memory_used_bytes{shard="2"} 10',
      'relay_shard_memory_used_bytes{shard="3"} 20',
      'relay_shard_memory_max_bytes{shard="0"} 100',
      'relay_shard_memory_max_bytes{shard="2"} 100',
      'relay_shard_memory_max_bytes{shard="3"} 100',
      'relay_cluster_ok 1',
      'relay_cluster_primaries 3',
      'relay_cluster_shards_most 2',
    ]);
  });

  it('tell that the cluster is not well by the one node that says so', async () => {
    const lines = await scrape(async () => [state('a', 1), state('b', 1, false)]);
    expect(lines).toContain('relay_cluster_ok 0');
  });

  it('tell nothing of a cluster where there is none, or none answers', async () => {
    const { cluster: _, ...alone } = state('a', 1);
    const named = (lines: readonly string[]): string[] => lines.filter((line) => line.startsWith('relay_cluster'));
    expect(named(await scrape(async () => [alone, alone]))).toEqual([]);
    expect(await scrape(async () => [undefined, undefined])).toEqual([
      'relay_shard_up{shard="0"} 0',
      'relay_shard_up{shard="1"} 0',
    ]);
  });

  it('have no value with one shard', async () => {
    expect(await scrape(async () => [])).toEqual([]);
  });
});
