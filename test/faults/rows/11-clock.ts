import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from '../engine/fault.js';
import { toolPath } from '../../support/tool-path.js';
import { attemptOf, envelopeIdOf } from '../engine/endpoints.js';
import type { Trial } from '../engine/trial.js';

const file = (trial: Trial): string => trial.file('clock');
const setClock = (trial: Trial, offset: string): void => writeFileSync(file(trial), offset);

/** Both roles see a clock that a file moves; the time since their start goes on as it does. */
async function prepare(trial: Trial): Promise<void> {
  const clock = {
    LD_PRELOAD: await toolPath('faketime'),
    FAKETIME_TIMESTAMP_FILE: file(trial),
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
  };
  setClock(trial, '+0');
  for (const env of [trial.env.ingress, trial.env.worker]) Object.assign(env, clock);
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

const steps = (name: string, does: string, run: (trial: Trial) => Promise<void>): Fault => ({
  row: 11,
  name: `clock-${name}`,
  does,
  duplicates: 'none',
  prepare,
  run,
  check: async (trial) => {
    const again = await trial.load.repeatFirst();
    return [...hotRetries(trial), ...(again === 'duplicate' ? [] : [`a repeat after the step was answered ${again}`])];
  },
});

export const faults: readonly Fault[] = [
  steps('ahead', 'the clock of ingress and worker goes 2 h ahead and stays there', async (trial) => {
    await trial.anyMoment();
    setClock(trial, '+7200');
    await delay(10_000);
  }),
  // What is put off while the clock is ahead would wait 2 h after its return: there it only comes back from behind.
  steps('back', 'the clock of ingress and worker goes 2 h back and returns after 8 s', async (trial) => {
    await trial.anyMoment();
    setClock(trial, '-7200');
    await delay(8_000);
    setClock(trial, '+0');
    await delay(4_000);
  }),
];
