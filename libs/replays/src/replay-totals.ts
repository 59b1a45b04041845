import type { ReplayStatus } from './replay-status.js';

/** What the gauges say of replays. */
export interface ReplayTotals {
  /** By state, those under way. */
  readonly replays: Readonly<Record<string, number>>;
  /** Deliveries by what became of them. */
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
