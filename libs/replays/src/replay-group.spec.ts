import { groupStatus, type ReplayGroup } from './replay-group.js';
import type { ReplayStatus } from './replay-status.js';

const group: ReplayGroup = {
  id: 'g',
  status: 'all',
  createdAt: 1_000,
  replays: [
    { id: 'a', webhookId: 'wa', matched: 10 },
    { id: 'b', webhookId: 'wb', matched: 5 },
    { id: 'c', webhookId: 'wc', matched: 0 },
  ],
  leftOut: [],
};
const replay = (state: ReplayStatus['state'], changes: Partial<ReplayStatus> = {}) =>
  ({ state, matched: 10, done: 0, failed: 0, secondsLeft: 1, endedAt: undefined, ...changes }) as ReplayStatus;
const ended = (state: 'done' | 'cancelled', endedAt: number) => replay(state, { done: 9, failed: 1, endedAt });

describe('the status of replays that were ordered at once', () => {
  it.each([
    ['running', ['paused', 'running', 'done']],
    ['paused', ['paused', 'done', 'cancelled']],
    ['done', ['done', 'cancelled', 'cancelled']],
    ['cancelled', ['cancelled', 'cancelled', 'cancelled']],
  ] as const)('is %s for %j', (state, states) => {
    const found = states.map((each) => (each === 'done' || each === 'cancelled' ? ended(each, 2_000) : replay(each)));
    expect(groupStatus(group, found, 3_000).state).toBe(state);
  });

  it('sums deliveries, and has the rate since the order and the time of the last replay', () => {
    const running = replay('running', { done: 3, failed: 1, secondsLeft: 40 });
    expect(groupStatus(group, [running, ended('done', 2_000), undefined], 8_000)).toMatchObject({
      matched: 20,
      done: 12,
      failed: 2,
      ratePerSecond: 2,
      secondsLeft: 40,
      endedAt: undefined,
      missing: [],
    });
    const unknown = replay('running', { secondsLeft: undefined });
    expect(groupStatus(group, [running, unknown, undefined], 8_000).secondsLeft).toBeUndefined();
  });

  it('ends with the last replay, and names those that are missing, unless they had no delivery', () => {
    expect(groupStatus(group, [ended('done', 6_000), undefined, undefined], 9_000)).toMatchObject({
      endedAt: 6_000,
      ratePerSecond: 2,
      secondsLeft: 0,
      missing: ['wb'],
    });
    expect(groupStatus(group, [undefined, undefined, undefined], 9_000)).toMatchObject({
      state: 'done',
      endedAt: 1_000,
      matched: 0,
      missing: ['wa', 'wb'],
    });
  });
});
