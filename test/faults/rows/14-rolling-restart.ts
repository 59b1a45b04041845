import type { App } from '../../support/app.js';
import type { Fault } from '../engine/fault.js';
import type { Trial } from '../engine/trial.js';

/** An attempt that runs gets 15 s to end, and what follows from it is written. */
const STOPS_WITHIN_MS = 25_000;

const told = new WeakMap<Trial, string[]>();

/** Tells processes to end, one after the other, and starts each again at once. */
async function restart(trial: Trial, apps: readonly App[]): Promise<void> {
  const failures: string[] = [];
  told.set(trial, failures);
  for (const app of apps) {
    await trial.anyMoment();
    const { code, tookMs } = await trial.restart(app);
    if (code !== 0) failures.push(`the ${app.role} ended with ${code}`);
    if (tookMs > STOPS_WITHIN_MS) failures.push(`the ${app.role} took ${Math.round(tookMs)} ms to end`);
  }
  await trial.returned();
}

/** No post may fail: an ingress gets no more of them before it is told to end. */
function failedPosts(trial: Trial): string[] {
  const failed = trial.load.answers.filter(({ status }) => status !== 202);
  return failed.length === 0 ? [] : [`${failed.length} posts failed, the first with ${failed[0]?.status}`];
}

export const faults: readonly Fault[] = [
  {
    row: 14,
    name: 'worker-restarted',
    does: 'SIGTERM of the only worker under load, three times; started again at once',
    duplicates: 'none',
    run: (trial) => restart(trial, [trial.worker, trial.worker, trial.worker]),
    check: (trial) => [...(told.get(trial) ?? []), ...failedPosts(trial)],
  },
  {
    row: 14,
    name: 'rolling-restart',
    does: 'two ingresses that take turns and two workers under load: SIGTERM of each in turn, an ingress after it gets no more requests; started again at once',
    duplicates: 'none',
    ingresses: 2,
    workers: 2,
    run: (trial) => restart(trial, [...trial.ingresses, ...trial.workers]),
    check: (trial) => [...(told.get(trial) ?? []), ...failedPosts(trial)],
  },
];
