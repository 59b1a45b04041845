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

type Strike = (trial: Trial) => StruckShard;
/** One of those whose nodes do not have what is global. */
const strikeOne: Strike = (trial) => trial.strike(trial.random.int(0, 1));
/** The one that shares its node with what is global, without which no shard goes on. */
const strikeBesideGlobal: Strike = (trial) => trial.strike(2, true);

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

function primaryKilled(name: string, does: string, strike: Strike): Fault {
  return {
    row: 19,
    name,
    does,
    duplicates: 'running',
    redisShards: SHARDS,
    run: async (trial) => {
      const shard = strike(trial);
      await trial.anyMoment();
      await killPrimary(shard);
      // Copies are made in the background: the replica may lack the last moment.
      trial.wentBack(shard.from);
      await trial.load.more(200);
    },
  };
}

function writesLost(name: string, does: string, strike: Strike): Fault {
  return {
    row: 19,
    name,
    does,
    duplicates: 'running',
    redisShards: SHARDS,
    run: async (trial) => {
      const shard = strike(trial);
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
  };
}

export const faults: readonly Fault[] = [
  primaryKilled('cluster-primary-killed', 'kill -9 of a primary; its replica takes its place by itself', strikeOne),
  primaryKilled(
    'cluster-global-killed',
    'the same of the primary that has the registrations too, so that all shards wait for its replica',
    strikeBesideGlobal,
  ),
  writesLost(
    'cluster-primary-loses-writes',
    'kill -9 of a primary whose replica got nothing for 2 to 3 s and takes its place: one shard goes back, the others do not',
    strikeOne,
  ),
  writesLost(
    'cluster-global-loses-writes',
    'the same of the primary that has the registrations too: they go back with its shard',
    strikeBesideGlobal,
  ),
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
