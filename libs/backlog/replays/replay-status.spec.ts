import { replayStatus, replayTotals, type ReplayStatus } from './replay-status.js';

const stored = { id: 'one', webhookId: 'w', partnerId: 'p', eventType: 'task.created', createdAt: '0', matched: '90' };
const aPart = (from: number, done: number) => ({ ranges: [{ from, to: 90 }], counts: { done, failed: 0 } });

describe('a running replay over three shards', () => {
  const statusOf = (...parts: readonly ReturnType<typeof aPart>[]) =>
    replayStatus(stored, { parts, shards: 3, endedAt: undefined, isPaused: false }, 1_000);

  it('has all of it left at its beginning, although each shard has all offsets to pass', () => {
    expect(statusOf(aPart(0, 0), aPart(0, 0), aPart(0, 0))).toMatchObject({ state: 'running', matched: 90, done: 0 });
  });

  it('has no more deliveries than it was ordered with, whichever shard is ahead', () => {
    expect(statusOf(aPart(30, 20), aPart(30, 5), aPart(0, 0))).toMatchObject({ matched: 90, done: 25 });
    expect(statusOf(aPart(60, 10), aPart(60, 10), aPart(60, 10))).toMatchObject({ matched: 60, done: 30 });
  });
});

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
