import { deliveryId } from '@relay/delivery';
import type { AttemptRecord } from '@relay/events';
import type { Disposition } from '@relay/retry';
import type { Webhook } from '@relay/webhooks';
import type { Attemptable } from './attempts.js';
import type { TopicTeller } from './topic-teller.js';

export interface AttemptDetails {
  attempt: number;
  startedAt: number;
  durationMs: number;
  status?: number;
  error?: string;
  failure: string | undefined;
}

/**
 * Tells every attempt on `relay.delivery-attempts`, keyed by the envelope. Final outcomes are marked: an envelope
 * without one is delivered once more by a recovery, so a record lost here costs a duplicate at most.
 */
export class AttemptLog {
  constructor(private readonly teller: TopicTeller) {}

  /** So many attempts are not told yet that queued ones wait: a final outcome that is never told is delivered again by `recover`. */
  get isFilling(): boolean {
    return this.teller.isFilling;
  }

  tell(webhook: Webhook, delivery: Attemptable, details: AttemptDetails, decided: Disposition): void {
    this.#push(delivery, {
      partnerId: webhook.partnerId,
      attempt: details.attempt,
      at: new Date(details.startedAt).toISOString(),
      durationMs: Math.round(details.durationMs),
      status: details.status,
      error: details.error,
      detail: details.failure,
      outcome: decided.kind,
      reason: decided.kind === 'dead-letter' ? decided.reason : undefined,
      nextAt: decided.kind === 'retry' ? new Date(decided.at).toISOString() : undefined,
      final: decided.kind !== 'retry',
    });
  }

  /** A delivery that ended without an attempt. */
  ended(delivery: Attemptable, outcome: 'cancelled' | 'dead-letter', reason: string): void {
    this.#push(delivery, { at: new Date().toISOString(), outcome, reason, final: true });
  }

  #push(
    delivery: Attemptable,
    facts: Omit<AttemptRecord, 'deliveryId' | 'envelopeId' | 'webhookId' | 'eventType'>,
  ): void {
    const { envelopeId, webhookId, eventType } = delivery;
    const record: AttemptRecord = { deliveryId: deliveryId(delivery), envelopeId, webhookId, eventType, ...facts };
    this.teller.tell(envelopeId, record);
  }

  close(): Promise<void> {
    return this.teller.close();
  }
}
