import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { DELIVERIES_QUEUE, dueTimeOf } from '@relay/jobs';
import type { Fault } from '../engine/fault.js';
import { toolPath } from '../../support/tool-path.js';
import { attemptOf, envelopeIdOf } from '../engine/endpoints.js';
import type { Trial } from '../engine/trial.js';

const file = (trial: Trial): string => trial.file('clock');
const setClock = (trial: Trial, offset: string): void => writeFileSync(file(trial), offset);

/** These roles see a clock that a file moves; the time since their start goes on as it does. */
async function movable(trial: Trial, ...roles: readonly ('ingress' | 'worker')[]): Promise<void> {
  const clock = {
    LD_PRELOAD: await toolPath('faketime'),
    FAKETIME_TIMESTAMP_FILE: file(trial),
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
  };
  setClock(trial, '+0');
  for (const role of roles) Object.assign(trial.env[role], clock);
}

/** A worker whose clock is right, beside the one whose clock is moved. */
async function besideARightOne(trial: Trial): Promise<void> {
  const moved = { ...trial.env.worker };
  for (const name of Object.keys(moved)) delete trial.env.worker[name];
  await trial.addWorker();
  Object.assign(trial.env.worker, moved);
}

/** The longest opening of a breaker, and as long again over which what waits for its end is spread. */
const LATEST_MS = 1_200_000;

/** @throws Error when a delivery is due later than any delay of this relay explains */
async function nothingIsPutOffForLong(trial: Trial): Promise<void> {
  const all = trial.shards.all.map((shard) =>
    shard.redis.zrange(shard.key(DELIVERIES_QUEUE, 'delayed'), '0', '0', 'REV', 'WITHSCORES'),
  );
  const latest = Math.max(0, ...(await Promise.all(all)).map(([, score = '0']) => dueTimeOf(score)));
  const inMs = latest - Date.now();
  if (inMs > LATEST_MS) throw new Error(`a delivery is due in ${Math.round(inMs / 1_000)} s`);
}

/** A schedule of five attempts is used up by five requests, whatever the clock says: nothing is tried without end. */
function hotRetries(trial: Trial): string[] {
  const attempts = new Map<string, number>();
  for (const endpoint of trial.endpoints)
    for (const request of endpoint.received()) {
      const key = [endpoint.webhookId, envelopeIdOf(request), attemptOf(request)].join(' ');
      attempts.set(key, (attempts.get(key) ?? 0) + 1);
    }
  const repeated = [...attempts.values()].filter((count) => count > 2).length;
  return repeated === 0 ? [] : [`${repeated} attempts were made more than twice`];
}

const checked = async (trial: Trial): Promise<readonly string[]> => {
  const again = await trial.load.repeatFirst();
  return [...hotRetries(trial), ...(again === 'duplicate' ? [] : [`a repeat after the step was answered ${again}`])];
};

const steps = (name: string, does: string, run: (trial: Trial) => Promise<void>): Fault => ({
  row: 11,
  name: `clock-${name}`,
  does,
  duplicates: 'none',
  prepare: (trial) => movable(trial, 'ingress', 'worker'),
  run,
  check: checked,
});

const ofOne = (name: string, does: string, run: (trial: Trial) => Promise<void>): Fault => ({
  row: 11,
  name: `worker-clock-${name}`,
  does: `the clock of one of two workers ${does}`,
  duplicates: 'none',
  prepare: (trial) => movable(trial, 'worker'),
  run: async (trial) => {
    await besideARightOne(trial);
    await trial.anyMoment();
    await run(trial);
    await nothingIsPutOffForLong(trial);
  },
  check: checked,
});

export const faults: readonly Fault[] = [
  steps('ahead', 'the clock of ingress and worker goes 2 h ahead and returns after 10 s', async (trial) => {
    await trial.anyMoment();
    setClock(trial, '+7200');
    await delay(10_000);
    setClock(trial, '+0');
  }),
  steps('back', 'the clock of ingress and worker goes 2 h back and returns after 8 s', async (trial) => {
    await trial.anyMoment();
    setClock(trial, '-7200');
    await delay(8_000);
    setClock(trial, '+0');
    await delay(4_000);
  }),
  ofOne('ahead', 'goes 25 h ahead and stays there', async (trial) => {
    setClock(trial, '+90000');
    await delay(10_000);
  }),
  ofOne('back', 'goes 97 h back and returns after 8 s', async (trial) => {
    setClock(trial, '-349200');
    await delay(8_000);
    setClock(trial, '+0');
    await delay(4_000);
  }),
];
