import type { DeadLetterReason } from '@relay/dead-letters';
import { retryDelay, type Schedule } from './schedule.js';

/** What a disposition reads of an attempt's outcome; the delivery lib's `Outcome` is one. */
export type AttemptVerdict =
  { readonly kind: 'delivered' } | { readonly kind: 'gone' } | { readonly kind: 'failed'; readonly notBefore?: number };

export type Disposition =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly at: number }
  | { readonly kind: 'dead-letter'; readonly reason: DeadLetterReason };

export interface RetryPolicy {
  readonly schedule: Schedule;
  /** Time after acceptance within which attempts are made. */
  readonly horizonMs: number;
}

export const DEFAULT_HORIZON_MS = 96 * 3_600_000;

export interface Circumstances {
  readonly now: number;
  /** From 0 to 1. */
  readonly random: number;
  /** When the envelope was accepted; for a replay when it was asked for, for a parked delivery its first attempt. */
  readonly acceptedAt: number;
}

/**
 * What becomes of a delivery after an attempt. The next one is due by the schedule, later if the endpoint asked for it.
 * If that lies beyond the horizon the delivery is a dead letter at once: an attempt after the horizon is never made and
 * an earlier one would break what the endpoint asked for, so waiting would only hide the end from the operator.
 * @param attempt number of the attempt just made, 1 for the first
 */
export function disposition(
  outcome: AttemptVerdict,
  attempt: number,
  policy: RetryPolicy,
  { now, random, acceptedAt }: Circumstances,
): Disposition {
  switch (outcome.kind) {
    case 'delivered':
      return { kind: 'delivered' };
    case 'gone':
      return { kind: 'dead-letter', reason: 'gone' };
    case 'failed': {
      const delayMs = retryDelay(policy.schedule, attempt, random);
      if (delayMs === undefined) return { kind: 'dead-letter', reason: 'attempts_exhausted' };
      const at = Math.max(now + delayMs, outcome.notBefore ?? 0);
      if (isBeyondHorizon(at, acceptedAt, policy)) return { kind: 'dead-letter', reason: 'horizon_passed' };
      return { kind: 'retry', at };
    }
    default:
      return outcome satisfies never;
  }
}

/**
 * Whether an attempt at this time comes too late. Also asked before an attempt that was due in time but had to wait
 * (for its endpoint, or because no worker ran): past the horizon it is not made and the delivery is a dead letter.
 */
export function isBeyondHorizon(at: number, acceptedAt: number, policy: Pick<RetryPolicy, 'horizonMs'>): boolean {
  return at > acceptedAt + policy.horizonMs;
}
