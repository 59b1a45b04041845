import { Registry } from 'prom-client';
import { ShardPartitionsGauge } from './log-reader.js';

const scrape = async (counts: Readonly<Record<string, readonly number[]>>): Promise<string[]> => {
  const registry = new Registry();
  const gauge = new ShardPartitionsGauge(registry, { countsOf: (state) => counts[state] ?? [] });
  expect(gauge).toBeDefined();
  return (await registry.metrics()).split('\n').filter((line) => line.startsWith('relay_'));
};

it('tells of each shard how many of its partitions are lost or doubtful', async () => {
  expect(await scrape({ lost: [0, 2], doubtful: [1, 0], reading: [9, 9] })).toEqual([
    'relay_shard_partitions{shard="0",state="lost"} 0',
    'relay_shard_partitions{shard="1",state="lost"} 2',
    'relay_shard_partitions{shard="0",state="doubtful"} 1',
    'relay_shard_partitions{shard="1",state="doubtful"} 0',
  ]);
  expect(await scrape({})).toEqual([]);
});
