import type { Servers } from '../../support/servers.js';
import { answersBySecond, repeatedRequests, requestsBySecond } from './evidence.js';
import type { Fault, Outcome } from './fault.js';
import { outcomeOf } from './outcome.js';
import { Trial } from './trial.js';

/** One run of a fault, and what its processes logged. */
export interface Run {
  readonly outcome: Outcome;
  readonly logs: Readonly<Record<string, string>>;
}

/** Never rejects: what keeps a run from its end is a failure of it. */
export async function runFault(fault: Fault, seed: string, servers: Servers): Promise<Run> {
  const since = performance.now();
  let trial: Trial | undefined;
  try {
    trial = await Trial.open(fault, seed, servers);
    await fault.run(trial);
    const outcome = await outcomeOf(trial, since);
    return { outcome, logs: logsOf(trial) };
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error);
    const none = {
      owed: 0,
      delivered: 0,
      dead: 0,
      lost: 0,
      duplicates: 0,
      allowed: 0,
      linesPerSecond: 0,
      heldUpMs: 0,
      ended: 0,
    };
    const outcome = {
      ...none,
      accepted: trial?.hasLoad === true ? trial.load.accepted.size : 0,
      repeated: 0,
      recoveriesMs: trial?.recoveriesMs ?? [],
      tookMs: Math.round(performance.now() - since),
      failures: [`the run did not come to its end: ${failure}`],
    };
    return { outcome, logs: trial === undefined ? {} : logsOf(trial) };
  } finally {
    await trial?.close();
  }
}

function logsOf(trial: Trial): Record<string, string> {
  const logs = trial.apps.map((app, index) => [`${app.role}-${index}.log`, app.log.join('\n')] as const);
  if (!trial.hasLoad) return Object.fromEntries(logs);
  return {
    ...Object.fromEntries(logs),
    'requests.txt': repeatedRequests(trial),
    'answers.txt': answersBySecond(trial),
    'pace.txt': requestsBySecond(trial),
  };
}
