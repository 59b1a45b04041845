import type { Servers } from '../../support/servers.js';
import { attemptOf, envelopeIdOf, isDelivery } from './endpoints.js';
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
    return { outcome, logs: { ...logsOf(trial), 'requests.txt': repeatedRequests(trial) } };
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error);
    const none = { owed: 0, delivered: 0, dead: 0, lost: 0, duplicates: 0, allowed: 0, linesPerSecond: 0 };
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

const logsOf = ({ apps }: Trial): Record<string, string> =>
  Object.fromEntries(apps.map((app, index) => [`${app.role}-${index}.log`, app.log.join('\n')]));

/** Every request of each delivery that came more than once, with the interruptions before it, in seconds. */
function repeatedRequests({ endpoints, interruptions }: Trial): string {
  const seconds = (at: number | undefined): string => (at === undefined ? 'never' : (at / 1_000).toFixed(3));
  const lines = interruptions.map(({ at, since }) => `interrupted at ${seconds(at)} since ${seconds(since)}`);
  for (const endpoint of endpoints) {
    const byId = Map.groupBy(endpoint.received(), envelopeIdOf);
    for (const [id, requests] of byId) {
      if (requests.filter(isDelivery).length < 2) continue;
      const shown = requests.map(
        (request) =>
          `#${attemptOf(request)} ${request.status} ${seconds(request.at)} answered ${seconds(request.answeredAt)} ended ${seconds(request.endedAt)}`,
      );
      lines.push(`${requests[0]?.path} ${id}: ${shown.join('; ')}`);
    }
  }
  return lines.join('\n');
}
