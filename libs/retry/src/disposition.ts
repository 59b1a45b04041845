import type { DeadLetterReason } from '@relay/dead-letters';
import { retryDelay, type Schedule } from './schedule.js';

/** The part of an attempt's outcome that decides; the `Outcome` of `delivery` is one. */
export type AttemptVerdict =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly notBefore?: number };

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
  /** When the envelope was accepted; for a replay the time of its order, for a parked delivery that of its first attempt. */
  readonly acceptedAt: number;
}

/**
 * Decides about a delivery after an attempt. The next attempt is due by the schedule, or later if the endpoint asked for that.
 * If it lies beyond the horizon the delivery is a dead letter at once: no attempt is made after the horizon, and an earlier
 * one would ignore the endpoint, so waiting would only hide the end from the operator.
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
 * Whether an attempt at this time is too late. Also checked before an attempt that was due in time but had to wait (for its
 * endpoint, or because no worker ran): past the horizon it is not made and the delivery is a dead letter.
 */
export function isBeyondHorizon(at: number, acceptedAt: number, policy: Pick<RetryPolicy, 'horizonMs'>): boolean {
  return at > acceptedAt + policy.horizonMs;
}
