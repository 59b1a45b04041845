import type { ReplayStatus } from './replay-status.js';

/** A time of a replay as answers show it; `null` where it is open. */
const textOf = (time: number | undefined): string | null => (time === undefined ? null : new Date(time).toISOString());
/** A rate, or a number of seconds, to a tenth. */
const rounded = (value: number): number => Math.round(value * 10) / 10;

/** A replay as answers show it: times in ISO 8601, rates to a tenth. */
export const replayFacts = (replay: ReplayStatus) => ({
  id: replay.id,
  webhookId: replay.webhookId,
  status: replay.status,
  since: textOf(replay.since),
  until: textOf(replay.until),
  state: replay.state,
  matched: replay.matched,
  done: replay.done,
  failed: replay.failed,
  ratePerSecond: rounded(replay.ratePerSecond),
  secondsLeft: replay.secondsLeft === undefined ? null : rounded(replay.secondsLeft),
  createdAt: new Date(replay.createdAt).toISOString(),
  endedAt: textOf(replay.endedAt),
});
