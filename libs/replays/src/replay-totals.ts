import type { ReplayStatus } from './replay-status.js';

/** Totals of replays for the gauges. */
export interface ReplayTotals {
  /** Running and paused replays by state. */
  readonly replays: Readonly<Record<string, number>>;
  /** Deliveries by result. */
  readonly deliveries: Readonly<Record<'done' | 'failed' | 'left', number>>;
}

export function replayTotals(all: readonly ReplayStatus[]): ReplayTotals {
  const replays = { running: 0, paused: 0 };
  const deliveries = { done: 0, failed: 0, left: 0 };
  for (const { state, matched, done, failed } of all) {
    deliveries.done += done;
    deliveries.failed += failed;
    if (state !== 'running' && state !== 'paused') continue;
    replays[state] += 1;
    deliveries.left += matched - done - failed;
  }
  return { replays, deliveries };
}
