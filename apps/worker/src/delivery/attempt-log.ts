import { deliveryId } from '@relay/delivery';
import type { AttemptFacts, AttemptRecord } from '@relay/events';
import type { Disposition } from '@relay/retry';
import type { Webhook } from '@relay/webhooks';
import type { Told } from './attempts.js';
import type { HistoryWriter } from '../reporting/history-writer.js';
import type { EventReporter } from '../reporting/event-reporter.js';

/**
 * Tells every attempt on `relay.delivery-attempts`, keyed by the envelope, and the history what was delivered. Final outcomes are marked: an envelope
 * without one is delivered once more by a recovery, so a record lost here costs a duplicate at most.
 */
export class AttemptLog {
  constructor(
    private readonly teller: EventReporter,
    private readonly history?: Pick<HistoryWriter, 'delivered'>,
  ) {}

  /** So many attempts are not told yet that queued ones wait: a final outcome that is never told is delivered again by `recover`. */
  get isFilling(): boolean {
    return this.teller.isFilling;
  }

  /** @param tries all attempts of the delivery; the last one is told */
  tell(webhook: Webhook, delivery: Told, attempt: number, tries: readonly AttemptFacts[], decided: Disposition): void {
    const last = tries.at(-1) as AttemptFacts;
    this.#push(delivery, {
      partnerId: webhook.partnerId,
      attempt,
      ...last,
      at: new Date(last.at).toISOString(),
      outcome: decided.kind,
      reason: decided.kind === 'dead-letter' ? decided.reason : undefined,
      nextAt: decided.kind === 'retry' ? new Date(decided.at).toISOString() : undefined,
      final: decided.kind !== 'retry',
    });
    if (decided.kind === 'delivered')
      this.history?.delivered({ webhookId: webhook.id, envelopeId: delivery.envelopeId, attempts: tries });
  }

  /** A delivery that ended without an attempt. */
  ended(delivery: Told, outcome: 'cancelled' | 'dead-letter', reason: string): void {
    this.#push(delivery, { at: new Date().toISOString(), outcome, reason, final: true });
  }

  #push(delivery: Told, facts: Omit<AttemptRecord, 'deliveryId' | 'envelopeId' | 'webhookId' | 'eventType'>): void {
    const { envelopeId, webhookId, eventType } = delivery;
    const record: AttemptRecord = { deliveryId: deliveryId(delivery), envelopeId, webhookId, eventType, ...facts };
    this.teller.tell(envelopeId, record);
  }

  close(): Promise<void> {
    return this.teller.close();
  }
}
