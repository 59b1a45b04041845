import { parseDuration } from '@relay/config';
import type { DeadLetterReason } from '@relay/dead-letters';
import { MAX_RETRY_AFTER_MS } from '@relay/delivery';
import type { AttemptRecord } from '@relay/events';
import type { DeliveryJob, QueuedDelivery } from '@relay/jobs';

/** Delays between the attempts of one delivery, in milliseconds: n delays allow n + 1 attempts. */
type Schedule = readonly number[];

/** The share of a delay that chance may add, so that deliveries that failed together do not retry together. */
const MAX_STRETCH = 0.2;

/** Reads a schedule such as `5s,5m,2h`. @throws RangeError naming the entry that is no duration or lasts no time */
export function parseSchedule(text: string): number[] {
  return text.split(',').map((entry, index) => {
    const delayMs = parseDuration(entry);
    if (delayMs) return delayMs;
    throw new RangeError(`entry ${index + 1} of the retry schedule is no duration above zero such as 5s, 5m or 2h`);
  });
}

/** Returns the longest time in milliseconds until a next attempt, by the schedule or because the endpoint asked for it. */
export const longestWait = (schedule: Schedule): number =>
  Math.max(MAX_RETRY_AFTER_MS, Math.max(...schedule) * (1 + MAX_STRETCH));

/**
 * Returns the milliseconds to wait after this number of attempts: the scheduled delay stretched by 0 to 20 %; undefined if the
 * schedule is exhausted. Chance only adds: the published delay is a minimum.
 * @param attemptsMade 1 or more
 * @param random from 0 to 1
 */
export function retryDelay(schedule: Schedule, attemptsMade: number, random: number): number | undefined {
  if (!Number.isInteger(attemptsMade) || attemptsMade < 1)
    throw new RangeError(`${attemptsMade} attempts were not made`);
  const delayMs = schedule[attemptsMade - 1];
  return delayMs === undefined ? undefined : Math.round(delayMs * (1 + MAX_STRETCH * random));
}

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

interface Circumstances {
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
 * Returns whether an attempt at this time is too late. The caller also checks an attempt that was due in time but had to wait
 * for its endpoint or for a running worker: past the horizon it is not made and the delivery is a dead letter.
 */
export function isBeyondHorizon(at: number, acceptedAt: number, policy: Pick<RetryPolicy, 'horizonMs'>): boolean {
  return at > acceptedAt + policy.horizonMs;
}

/** The place of a delivery in its schedule. */
export interface Standing {
  readonly attempts: number;
  /** Epoch milliseconds of the first logged attempt. */
  readonly begunAt: number;
  /** Epoch milliseconds of the next attempt. */
  readonly nextAt: number;
  readonly lastFailure?: string;
}

/** @param before the standing after the records before this one */
export const standingAfter = (record: AttemptRecord, before?: Standing): Standing => ({
  attempts: Math.max(record.attempt ?? 0, before?.attempts ?? 0),
  begunAt: Math.min(timeOf(record.at), before?.begunAt ?? Infinity),
  nextAt: timeOf(record.nextAt),
  ...(record.detail === undefined ? {} : { lastFailure: record.detail }),
});

/**
 * Returns a job built from the log: it has the logged attempts and is due when the next attempt was. Its 96 h begin with the
 * first attempt if that came after the 202, and now if there was none. Otherwise a delivery that was parked for days would die
 * at once.
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
