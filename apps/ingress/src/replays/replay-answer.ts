import type { TimeWindow } from '@relay/kafka';
import type { ReplayStatus } from '@relay/progress';
import type { ReplayAnswer } from './replay.js';

const textOf = (time: number): string => new Date(time).toISOString();
const orNull = (time: number | undefined): string | null => (time === undefined ? null : textOf(time));
const rounded = (figure: number): number => Math.round(figure * 10) / 10;

/** A replay as its partner is shown it. */
export const answerOf = (replay: ReplayStatus): ReplayAnswer => ({
  id: replay.id,
  webhookId: replay.webhookId,
  since: orNull(replay.since),
  until: orNull(replay.until),
  state: replay.state,
  matched: replay.matched,
  done: replay.done,
  failed: replay.failed,
  ratePerSecond: rounded(replay.ratePerSecond),
  secondsLeft: replay.secondsLeft === undefined ? null : rounded(replay.secondsLeft),
  createdAt: textOf(replay.createdAt),
  endedAt: orNull(replay.endedAt),
});

/** What a replay would match. @param now epoch milliseconds */
export const dryRunOf = (webhookId: string, window: TimeWindow, matched: number, now: number): ReplayAnswer => ({
  id: null,
  webhookId,
  since: orNull(window.since),
  until: orNull(window.until),
  state: 'dry-run',
  matched,
  done: 0,
  failed: 0,
  ratePerSecond: 0,
  secondsLeft: null,
  createdAt: textOf(now),
  endedAt: textOf(now),
});
