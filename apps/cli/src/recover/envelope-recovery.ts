import { deliveryId } from '@relay/delivery';
import type { EnvelopeRecord } from '@relay/events';
import { type DeliveryJob, newJob, type QueuedDelivery } from '@relay/jobs';
import type { Outcomes } from './outcomes.js';
import type { ToldLetters } from './told-letters.js';

/** Clocks of ingresses differ: a webhook registered by one may look younger than an envelope accepted later by another. */
export const CLOCK_TOLERANCE_MS = 60_000;

/** A webhook that matches an envelope by type and audience. */
export interface Candidate {
  readonly id: string;
  readonly partnerId: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

/** What the log tells of deliveries. */
export interface Told {
  readonly outcomes: Outcomes;
  readonly letters: ToldLetters;
}

export interface EnvelopeRecovery {
  readonly deliveries: readonly QueuedDelivery[];
  /** Deliveries that ended, or are dead letters. */
  readonly alreadyFinal: number;
}

/** The deliveries of an envelope that have no final outcome, each where it stood in its schedule; `now` in epoch milliseconds. */
export function recoveryOf(
  record: EnvelopeRecord,
  candidates: readonly Candidate[],
  { outcomes, letters }: Told,
  now: number,
): EnvelopeRecovery {
  const { envelope, acceptedAt } = record;
  const { id: envelopeId, contentHash: hash } = envelope;
  const deliveries: QueuedDelivery[] = [];
  let alreadyFinal = 0;
  for (const webhook of candidates) {
    if (webhook.createdAt > acceptedAt + CLOCK_TOLERANCE_MS) continue;
    const id = deliveryId({ webhookId: webhook.id, envelopeId, hash, series: 0 });
    if (outcomes.isFinal(id) || letters.knows(id)) {
      alreadyFinal += 1;
      continue;
    }
    deliveries.push(standing(newJob(webhook, record), outcomes, now));
  }
  return { deliveries, alreadyFinal };
}

/**
 * A job with the attempts that were told of it, due when its next one was. Its time runs from its first attempt where that was
 * later than the 202, and begins now where none was made: what had waited parked for days would be dead at once.
 */
export function standing(job: DeliveryJob, outcomes: Outcomes, now: number): QueuedDelivery {
  const stood = outcomes.standingOf(deliveryId(job));
  const waitedSince = job.acceptedAt;
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
