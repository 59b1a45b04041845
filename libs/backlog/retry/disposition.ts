import { parseDuration } from '@relay/config';
import type { DeadLetterReason } from '@relay/dead-letters';
import { MAX_RETRY_AFTER_MS } from '@relay/delivery';
import type { AttemptRecord } from '@relay/events';
import type { DeliveryJob, QueuedDelivery } from '@relay/jobs';

/** Delays between the attempts of one delivery, in milliseconds. A schedule of n delays allows n + 1 attempts. */
type Schedule = readonly number[];

/**
 * A random part of up to this share is added to each delay, so that deliveries that failed together are not retried
 * together.
 */
const MAX_STRETCH = 0.2;

/** Reads a schedule such as `5s,5m,2h`. @throws RangeError that names the entry if an entry is not a duration above zero */
export function parseSchedule(text: string): number[] {
  return text.split(',').map((entry, index) => {
    const delayMs = parseDuration(entry);
    if (delayMs) return delayMs;
    throw new RangeError(`entry ${index + 1} of the retry schedule is no duration above zero such as 5s, 5m or 2h`);
  });
}

/**
 * Returns the longest possible time in milliseconds until the next attempt, either by the schedule or because the endpoint
 * asked for it with `Retry-After`.
 */
export const longestWait = (schedule: Schedule): number =>
  Math.max(MAX_RETRY_AFTER_MS, Math.max(...schedule) * (1 + MAX_STRETCH));

/**
 * Returns the milliseconds to wait after an attempt: the delay of the schedule plus a random 0 to 20 %. Returns undefined if
 * the schedule has no further delay. The delay is never shortened, because the published delays are minimums.
 * @param attemptsMade number of attempts so far, 1 or more
 * @param random from 0 to 1
 */
export function retryDelay(schedule: Schedule, attemptsMade: number, random: number): number | undefined {
  if (!Number.isInteger(attemptsMade) || attemptsMade < 1)
    throw new RangeError(`${attemptsMade} attempts were not made`);
  const delayMs = schedule[attemptsMade - 1];
  return delayMs === undefined ? undefined : Math.round(delayMs * (1 + MAX_STRETCH * random));
}

/**
 * The part of an attempt's outcome that `disposition` needs. The type `Outcome` of `@relay/delivery` is compatible with it.
 */
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
  /** Attempts are made only within this time after the acceptance. */
  readonly horizonMs: number;
}

export const DEFAULT_HORIZON_MS = 96 * 3_600_000;

interface Circumstances {
  readonly now: number;
  /** From 0 to 1. */
  readonly random: number;
  /**
   * When the envelope was accepted. For a replay it is the time of the order, and for a parked delivery the time of the
   * first attempt.
   */
  readonly acceptedAt: number;
}

/**
 * Decides what happens to a delivery after an attempt. The next attempt is due by the schedule, or later if the endpoint
 * asked for a later time. If that time is beyond the horizon, the delivery becomes a dead letter at once. No further attempt
 * is possible, and the operator sees the end of the delivery without delay.
 * @param attempt number of the attempt that was just made, 1 for the first
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
 * Returns true if an attempt at this time is too late. The caller also checks attempts that were due in time but had to wait
 * for their endpoint or for a worker. If such an attempt is too late, it is not made, and the delivery becomes a dead
 * letter.
 */
export function isBeyondHorizon(at: number, acceptedAt: number, policy: Pick<RetryPolicy, 'horizonMs'>): boolean {
  return at > acceptedAt + policy.horizonMs;
}

/** How many attempts a delivery has made by the log, and when the next one is due. */
export interface Standing {
  readonly attempts: number;
  /** Epoch milliseconds of the first logged attempt. */
  readonly begunAt: number;
  /** Epoch milliseconds of the next attempt. */
  readonly nextAt: number;
  readonly lastFailure?: string;
}

/**
 * Returns the standing of a delivery after a record of an attempt.
 * @param before the standing before this record
 */
export const standingAfter = (record: AttemptRecord, before?: Standing): Standing => ({
  attempts: Math.max(record.attempt ?? 0, before?.attempts ?? 0),
  begunAt: Math.min(timeOf(record.at), before?.begunAt ?? Infinity),
  nextAt: timeOf(record.nextAt),
  ...(record.detail === undefined ? {} : { lastFailure: record.detail }),
});

/**
 * Returns a job for a delivery that was rebuilt from the log. The job has the logged number of attempts and is due when the
 * next attempt was due. If the first attempt was made later than the acceptance, the 96 hours begin with that attempt. If
 * there was no attempt, they begin now. Otherwise a delivery that was parked for days would become a dead letter at once.
 */
export function standing(job: DeliveryJob, stood: Standing | undefined, now: number): QueuedDelivery {
  const waitedSince = job.waitedSince ?? job.acceptedAt;
  if (stood === undefined) return { job: { ...job, acceptedAt: now, waitedSince }, at: now };
  const { attempts, begunAt, nextAt, lastFailure } = stood;
  return {
    job: {
      ...job,
      attempts,
      acceptedAt: Math.max(job.acceptedAt, begunAt),
      waitedSince,
      ...(lastFailure === undefined ? {} : { lastFailure }),
    },
    at: Math.max(now, nextAt),
  };
}

/** Returns 0 for a missing or invalid time. */
const timeOf = (text = ''): number => Date.parse(text) || 0;
