import { deliveryId } from '@relay/delivery';
import type { EnvelopeRecord } from '@relay/events';
import { newJob, type QueuedDelivery } from '@relay/jobs';
import { standing } from '@relay/retry';
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
    deliveries.push(standing(newJob(webhook, record), outcomes.standingOf(id), now));
  }
  return { deliveries, alreadyFinal };
}
