import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../support/until.js';
import type { Fault } from '../engine/fault.js';
import { reshard } from '../engine/reshard.js';

const SHARDS = 3;
/** Its slot is among the lowest of the first primary. */
const SHARD_OF_LOW_SLOT = 1;
/** By the group's commits, which are at most 5 s old, the worker knows that the log was read before. */
const COMMITTED_AFTER_MS = 8_000;
/** Attempts are told on their topic in batches beside the path. */
const TOLD_WITHIN_MS = 1_000;

export const faults: readonly Fault[] = [
  {
    row: 19,
    name: 'cluster-slots-moved',
    does: 'the slot of a shard, and all below it, are moved to another primary under load and back (`redis-cli --cluster reshard`)',
    duplicates: 'running',
    recoversWithinMs: 20_000,
    redisShards: SHARDS,
    run: async (trial) => {
      const shard = trial.strike(SHARD_OF_LOW_SLOT);
      const [home, away] = [await shard.primary(), await shard.cluster.primaryOf(`{relay:0/${SHARDS}}`)];
      const slot = await home.look.cluster('KEYSLOT', shard.tag);
      await trial.anyMoment();
      shard.strikes();
      for (const [from, to] of [
        [home, away],
        [away, home],
      ] as const) {
        const since = performance.now();
        await reshard(shard.cluster, from, to, slot + 1);
        await shard.moved(from);
        trial.interrupted(performance.now(), since);
        await shard.returned();
        await trial.load.more(200);
      }
    },
  },
  {
    row: 19,
    name: 'cluster-shard-emptied',
    does: 'FLUSHALL of one primary under load, which empties one shard, and `relay recover` when the worker asks for it, all processes running',
    duplicates: 'running',
    recoversWithinMs: 60_000,
    redisShards: SHARDS,
    run: async (trial) => {
      const shard = trial.strike(trial.random.int(0, 1));
      await delay(COMMITTED_AFTER_MS);
      await trial.anyMoment();
      const primary = await shard.primary();
      // What the attempts' topic has not been told yet is delivered again: the records of the last moments.
      const since = shard.strikes() - TOLD_WITHIN_MS;
      await primary.look.flushall();
      const told = async (): Promise<boolean> =>
        /relay recover/.test((await trial.worker.health())?.faults['log'] ?? '');
      await until('the worker says what to do', told, { withinMs: 30_000 });
      await trial.stack.relay('recover');
      await shard.returned();
      await trial.worker.ready(60_000);
      trial.wentBack(since);
      await trial.load.more(200);
    },
  },
];
