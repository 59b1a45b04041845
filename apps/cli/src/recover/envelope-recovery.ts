import { deliveryId } from '@relay/delivery';
import type { DeliveryJob, QueuedDelivery } from '@relay/retry';
import type { EnvelopeRecord } from '../../../worker/src/fan-out/read-record.js';
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
  { envelope, acceptedAt, traceparent }: EnvelopeRecord,
  candidates: readonly Candidate[],
  { outcomes, letters }: Told,
  now: number,
): EnvelopeRecovery {
  const { id: envelopeId, type: eventType, contentHash: hash, bytes } = envelope;
  const deliveries: QueuedDelivery[] = [];
  let alreadyFinal = 0;
  for (const { id: webhookId, partnerId, createdAt } of candidates) {
    if (createdAt > acceptedAt + CLOCK_TOLERANCE_MS) continue;
    const id = deliveryId({ webhookId, envelopeId, hash, series: 0 });
    if (outcomes.isFinal(id) || letters.knows(id)) {
      alreadyFinal += 1;
      continue;
    }
    const job: DeliveryJob = {
      v: 1,
      webhookId,
      partnerId,
      envelopeId,
      eventType,
      hash,
      series: 0,
      attempts: 0,
      acceptedAt,
      ...(traceparent === undefined ? {} : { traceparent }),
      body: bytes.toString('utf8'),
    };
    deliveries.push(standing(job, outcomes, now));
  }
  return { deliveries, alreadyFinal };
}

/** A job with the attempts that were told of it, due when its next one was. */
export function standing(job: DeliveryJob, outcomes: Outcomes, now: number): QueuedDelivery {
  const stood = outcomes.standingOf(deliveryId(job));
  if (stood === undefined) return { job, at: now };
  const { attempts, nextAt, lastFailure } = stood;
  return {
    job: { ...job, attempts, ...(lastFailure === undefined ? {} : { lastFailure }) },
    at: Math.max(now, nextAt),
  };
}
