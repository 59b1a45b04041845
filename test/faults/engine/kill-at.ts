import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { App } from '../../support/app.js';
import { until } from '../../support/until.js';
import type { KillPoint } from './fault.js';

/** What was reached is killed within this, or the point does not exist for this load. */
const REACHED_WITHIN_MS = 90_000;

/**
 * Lets a process kill itself at a step.
 * @param file by which it is told (kill-point.mjs)
 * @returns when it died, and the envelope at whose step it did, if it was one's
 */
export async function killedAt(
  app: App,
  file: string,
  { point, calls, only = '', withinMs = REACHED_WITHIN_MS }: KillPoint & { readonly calls: number },
): Promise<{ diedAt: number; envelopeId: string }> {
  rmSync(`${file}.reached`, { force: true });
  writeFileSync(file, `${point} ${calls} ${only}`.trim());
  process.kill(app.pid, 'SIGUSR2');
  await until(`the ${app.role} reaches ${point} for the ${calls}th time`, () => !app.isRunning, {
    withinMs,
    seen: () => app.log.slice(-5),
  });
  const [reached, diedAt, envelopeId = ''] = readFileSync(`${file}.reached`, 'utf8').split(' ');
  if (reached !== point)
    throw new Error(`the ${app.role} ended before it reached ${point}: ${app.log.slice(-5).join('\n')}`);
  return { diedAt: Number(diedAt) - performance.timeOrigin, envelopeId };
}
