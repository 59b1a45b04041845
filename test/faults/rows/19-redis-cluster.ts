import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../support/until.js';
import { CutOff } from '../engine/cut-off.js';
import type { Fault } from '../engine/fault.js';
import type { StruckShard } from '../engine/struck-shard.js';
import type { Trial } from '../engine/trial.js';

const SHARDS = 3;
const FROZEN_MS = 30_000;
const CUT_MS = 20_000;

const cutOffs = new WeakMap<Trial, CutOff>();

/** One of those whose nodes do not have what is global. */
const strikeOne = (trial: Trial): StruckShard => trial.strike(trial.random.int(0, 1));

/** Kills the primary of the shard and waits for what the replica that takes its place delivers. */
async function killPrimary(shard: StruckShard): Promise<void> {
  const primary = await shard.primary();
  shard.strikes();
  shard.cluster.kill(primary);
  await shard.moved(primary);
  await shard.returned();
}

/** The worker tells of the shard that went back, and of no other. */
function wentBackAlone(trial: Trial): string[] {
  const told = trial.workers.flatMap(({ log }) => log.filter((line) => line.includes('"log.went_back"')));
  const others = told.filter((line) => !line.includes(`"shard":${trial.struck?.number},`));
  return [
    ...(told.length === 0 ? ['no partition went back'] : []),
    ...others.slice(0, 1).map((line) => `another shard went back: ${line}`),
  ];
}

export const faults: readonly Fault[] = [
  {
    row: 19,
    name: 'cluster-primary-killed',
    does: 'kill -9 of a primary; its replica takes its place by itself',
    duplicates: 'running',
    redisShards: SHARDS,
    run: async (trial) => {
      const shard = strikeOne(trial);
      await trial.anyMoment();
      await killPrimary(shard);
      // Copies are made in the background: the replica may lack the last moment.
      trial.wentBack(shard.from);
      await trial.load.more(200);
    },
  },
  {
    row: 19,
    name: 'cluster-primary-loses-writes',
    does: 'kill -9 of a primary whose replica got nothing for 2 to 3 s and takes its place: one shard goes back, the others do not',
    duplicates: 'running',
    redisShards: SHARDS,
    run: async (trial) => {
      const shard = strikeOne(trial);
      await trial.anyMoment();
      const primary = await shard.primary();
      const replica = shard.cluster.partnerOf(primary);
      await replica.look.config('SET', 'masterauth', 'another');
      const since = performance.now();
      await primary.look.call('CLIENT', 'KILL', 'TYPE', 'replica');
      await delay(trial.random.int(2_000, 3_000));
      if ((await replica.look.info('replication')).includes('master_link_status:up'))
        throw new Error('the replica has followed its primary again');
      await killPrimary(shard);
      trial.wentBack(since);
      await trial.load.more(200);
    },
    check: wentBackAlone,
  },
  {
    row: 19,
    name: 'cluster-node-frozen',
    does: `a primary is stopped for ${FROZEN_MS / 1_000} s (SIGSTOP) and goes on; its replica takes its place meanwhile`,
    duplicates: 'running',
    // The relay gives up a connection that answers nothing after 5 s, BullMQ's one after 15 s.
    recoversWithinMs: 20_000,
    redisShards: SHARDS,
    run: async (trial) => {
      const shard = strikeOne(trial);
      await trial.anyMoment();
      const primary = await shard.primary();
      const since = shard.strikes();
      const thaw = shard.cluster.freeze(primary);
      await shard.moved(primary);
      await shard.returned();
      trial.wentBack(since);
      await shard.until(FROZEN_MS);
      thaw();
      await until('the old primary follows', async () =>
        (await primary.look.info('replication')).includes('role:slave'),
      );
      await shard.returned();
      await trial.load.more(200);
    },
  },
  {
    row: 19,
    name: 'cluster-node-cut',
    does: `nothing reaches a primary for ${CUT_MS / 1_000} s, neither from clients nor from other nodes, while connections stay open, and no replica takes its place`,
    duplicates: 'running',
    redisShards: SHARDS,
    prepare: async (trial) => {
      const shard = strikeOne(trial);
      const cutOff = await CutOff.before(shard.cluster, await shard.primary());
      trial.atEnd(() => cutOff.end());
      cutOffs.set(trial, cutOff);
    },
    run: async (trial) => {
      const [shard, cutOff] = [trial.struck, cutOffs.get(trial)];
      if (shard === undefined || cutOff === undefined) throw new Error('nothing is prepared');
      await trial.anyMoment();
      const since = shard.strikes();
      await cutOff.cut();
      trial.interrupted(performance.now(), since);
      await shard.until(CUT_MS);
      trial.interrupted();
      await cutOff.restore();
      await shard.returned();
      await trial.load.more(200);
    },
  },
];
