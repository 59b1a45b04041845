import type { TimeWindow } from '@relay/kafka';
import { replayFacts, type ReplayAnswer, type ReplayTarget } from '@relay/replays';

/** The answer to a dry run, as a replay. @param now epoch milliseconds */
export const dryRunOf = (target: ReplayTarget, window: TimeWindow, matched: number, now: number): ReplayAnswer => {
  const counts = { matched, done: 0, failed: 0, ratePerSecond: 0, secondsLeft: undefined };
  const facts = {
    ...window,
    ...counts,
    ...target,
    id: '',
    orderedBy: 'partner' as const,
    createdAt: now,
    endedAt: now,
  };
  return { ...replayFacts({ ...facts, state: 'done' }), id: null, state: 'dry-run' };
};
