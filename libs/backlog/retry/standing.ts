import type { AttemptRecord } from '@relay/events';
import type { DeliveryJob, QueuedDelivery } from '@relay/jobs';

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
