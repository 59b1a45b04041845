import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SmallDisk } from '@relay/testing';
import { until } from '../../support/until.js';
import type { Fault } from '../engine/fault.js';
import { there } from '../engine/there.js';
import type { Trial } from '../engine/trial.js';

const MIB = 2 ** 20;
const FULL_MS = 15_000;
/** Of data that Redis has beside the relay's: a rewrite of its file needs as much once more. */
const BALLAST_MIB = 64;
/** Enough for what a slow machine writes in the run, and less than a rewrite needs. */
const FREED_MIB = 48;
/** Redis may end once more: the relay has its file rewritten when writes have gone well for minutes, and not again. */
const REWRITES = 1;

const disks = new WeakMap<Trial, SmallDisk>();

/** Times that the service ended by itself and was started again. */
const restarts = new WeakMap<Trial, number>();

/** Moves what the service keeps to a disk of its own. */
async function prepare(trial: Trial, service: 'redis' | 'kafka', mebibytes: number): Promise<void> {
  const folder = trial.servers.folder(service);
  await trial.servers.stop(service);
  const aside = mkdtempSync(join(tmpdir(), 'relay-aside-'));
  execFileSync('cp', ['-a', `${folder}/.`, aside]);
  const disk = SmallDisk.mount(folder, mebibytes);
  trial.atEnd(() => disk.unmount());
  execFileSync('cp', ['-a', `${aside}/.`, folder]);
  rmSync(aside, { recursive: true, force: true });
  disks.set(trial, disk);
  await trial.servers.bringUp();
}

/** Starts the service again whenever it has ended, as a supervisor does, until the run is over. */
function supervise(trial: Trial, service: 'redis' | 'kafka'): void {
  const over = new AbortController();
  const watch = async (): Promise<void> => {
    for (; !over.signal.aborted; await delay(500)) {
      if (trial.servers.isRunning(service)) continue;
      restarts.set(trial, (restarts.get(trial) ?? 0) + 1);
      await trial.servers.bringUp().catch(() => undefined);
    }
  };
  const watched = watch();
  trial.atEnd(async () => {
    over.abort();
    await watched;
  });
}

/** Fills the disk until the service ends, and for some time more; then makes room. */
async function fillAndFree(
  trial: Trial,
  service: 'redis' | 'kafka',
  makeRoom: (disk: SmallDisk) => void,
): Promise<void> {
  const disk = there(disks.get(trial), 'there is no disk');
  await trial.anyMoment();
  trial.interrupted();
  disk.fill(0);
  await until(`${service} has ended`, () => !trial.servers.isRunning(service), { withinMs: 60_000 });
  supervise(trial, service);
  await delay(FULL_MS);
  makeRoom(disk);
  restarts.set(trial, 0);
  trial.interrupted();
  await trial.returned();
  await trial.load.more(500);
}

export const faults: readonly Fault[] = [
  {
    row: 7,
    name: 'redis-disk-full',
    does: `the disk of Redis is full, which ends it at each start, for ${FULL_MS / 1_000} s; then it has room for what is written, and not for a rewrite of its file`,
    duplicates: 'running',
    // A supervisor and the script that starts Redis take their time.
    recoversWithinMs: 20_000,
    spoils: true,
    impossible: () => SmallDisk.impossible(),
    prepare: async (trial) => {
      await prepare(trial, 'redis', 2 * BALLAST_MIB + FREED_MIB);
      for (let n = 0; n < BALLAST_MIB; n += 1) await trial.stack.redis.set(`{relay:0}:ballast:${n}`, randomBytes(MIB));
    },
    run: (trial) => fillAndFree(trial, 'redis', (disk) => disk.fill(FREED_MIB * MIB)),
    check: (trial) => {
      const ends = restarts.get(trial) ?? 0;
      return ends > REWRITES ? [`Redis ended ${ends} times after there was room`] : [];
    },
  },
  {
    row: 7,
    name: 'kafka-disk-full',
    does: `the disk of the broker is full, which ends it, for ${FULL_MS / 1_000} s; then there is room and it is started again`,
    duplicates: 'running',
    recoversWithinMs: 60_000,
    spoils: true,
    impossible: () => SmallDisk.impossible(),
    prepare: (trial) => prepare(trial, 'kafka', 512),
    run: (trial) => fillAndFree(trial, 'kafka', (disk) => disk.free()),
  },
];
