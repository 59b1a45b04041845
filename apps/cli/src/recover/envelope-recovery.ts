import { deliveryId } from '@relay/delivery';
import type { EnvelopeRecord } from '@relay/events';
import { type DeliveryJob, newJob, type QueuedDelivery } from '@relay/jobs';
import type { Outcomes } from './outcomes.js';
import type { LoggedDeadLetters } from './logged-dead-letters.js';

/**
 * Clocks of ingresses differ: a webhook registered by one may look younger than an envelope that another accepted
 * later.
 */
export const CLOCK_TOLERANCE_MS = 60_000;

/** A webhook that matches an envelope by type and audience. */
export interface Candidate {
  readonly id: string;
  readonly partnerId: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

/** The facts about deliveries in the log. */
export interface LoggedDeliveries {
  readonly outcomes: Outcomes;
  readonly letters: LoggedDeadLetters;
}

export interface EnvelopeRecovery {
  readonly deliveries: readonly QueuedDelivery[];
  /** Deliveries that ended, or are dead letters. */
  readonly alreadyFinal: number;
}

/**
 * The deliveries of an envelope without a final outcome, each at its place in the schedule; `now` in epoch
 * milliseconds.
 */
export function recoveryOf(
  record: EnvelopeRecord,
  candidates: readonly Candidate[],
  { outcomes, letters }: LoggedDeliveries,
  now: number,
): EnvelopeRecovery {
  const { envelope, acceptedAt } = record;
  const { id: envelopeId, contentHash: hash } = envelope;
  const deliveries: QueuedDelivery[] = [];
  let alreadyFinal = 0;
  for (const webhook of candidates) {
    if (webhook.createdAt > acceptedAt + CLOCK_TOLERANCE_MS) continue;
    const id = deliveryId({ webhookId: webhook.id, envelopeId, hash, series: 0, acceptedAt });
    if (outcomes.isFinal(id) || letters.knows(id)) {
      alreadyFinal += 1;
      continue;
    }
    deliveries.push(standing(newJob(webhook, record), outcomes, now));
  }
  return { deliveries, alreadyFinal };
}

/**
 * A job with its logged attempts, due when its next attempt was. Its 96 h begin with the first attempt if that was
 * later than the 202, and now if there was none: a delivery that had been parked for days would be dead at once.
 */
export function standing(job: DeliveryJob, outcomes: Outcomes, now: number): QueuedDelivery {
  const stood = outcomes.standingOf(deliveryId(job));
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
