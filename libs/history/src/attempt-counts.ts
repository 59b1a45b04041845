import type { AttemptFacts } from '@relay/events';
import { newestFirst, type HistoryLine } from './history-line.js';

/** The failed attempts of a webhook since they were last written, and the last good answer that was kept. */
export interface Failures {
  readonly webhookId: string;
  readonly count: number;
  readonly last?: AttemptFacts | undefined;
  readonly good?: AttemptFacts | undefined;
}

/** How many attempts of a webhook there were in the window of the history. */
export interface AttemptTotals {
  /** Successful ones. */
  readonly delivered: number;
  /** Failed ones, by whole hours. */
  readonly failed: number;
}

/** Share of failed attempts, 0 to 1; `null` if there was no attempt. */
export const failureRateOf = ({ delivered, failed }: AttemptTotals): number | null =>
  delivered + failed === 0 ? null : failed / (delivered + failed);

/** The attempts of a webhook in the window of the history. */
export interface AttemptCounts extends AttemptTotals {
  readonly lastDelivered?: HistoryLine;
  readonly lastFailure?: AttemptFacts;
  /** A successful attempt with its answer: one is kept every ten minutes. It may be older than the window. */
  readonly lastGood?: AttemptFacts;
}

/** The counts of one webhook over several shards: sums, and the last of each kind. */
export function countsOver(parts: readonly AttemptCounts[]): AttemptCounts {
  const [lastDelivered] = parts.flatMap((each) => each.lastDelivered ?? []).toSorted(newestFirst);
  const [lastFailure] = parts.flatMap((each) => each.lastFailure ?? []).toSorted(lastFirst);
  const [lastGood] = parts.flatMap((each) => each.lastGood ?? []).toSorted(lastFirst);
  return {
    ...totalsOver(parts),
    ...(lastDelivered === undefined ? {} : { lastDelivered }),
    ...(lastFailure === undefined ? {} : { lastFailure }),
    ...(lastGood === undefined ? {} : { lastGood }),
  };
}

export const totalsOver = (parts: readonly AttemptTotals[]): AttemptTotals => ({
  delivered: parts.reduce((sum, each) => sum + each.delivered, 0),
  failed: parts.reduce((sum, each) => sum + each.failed, 0),
});

const lastFirst = (a: AttemptFacts, b: AttemptFacts): number => b.at - a.at;
