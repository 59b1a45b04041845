import type { ReplayStatus } from './replay-status.js';
import { replayTotals } from './replay-totals.js';

const replay = (state: ReplayStatus['state'], [matched, done, failed]: readonly [number, number, number]) =>
  ({ state, matched, done, failed }) as ReplayStatus;

describe('replayTotals', () => {
  it('counts running and paused replays, and the deliveries of all; a cancelled replay has none left', () => {
    const all = [
      replay('running', [10, 4, 1]),
      replay('paused', [7, 0, 0]),
      replay('done', [5, 3, 2]),
      replay('cancelled', [9, 1, 0]),
    ];
    expect(replayTotals(all)).toEqual({
      replays: { running: 1, paused: 1 },
      deliveries: { done: 8, failed: 3, left: 12 },
    });
  });
});
