import { Inject, Injectable } from '@nestjs/common';
import { deliveryId } from '@relay/delivery';
import type { AttemptFacts, AttemptRecord } from '@relay/events';
import type { Disposition } from '@relay/retry';
import type { Webhook } from '@relay/webhooks';
import type { EventReporter } from '../reporting/event-reporter.js';
import { HistoryWriter } from '../reporting/history-writer.js';
import { ATTEMPTS_REPORTER } from '../reporting/reporters.js';
import type { DeliveryFacts } from './delivery-facts.js';

/**
 * Writes every attempt to `relay.delivery-attempts`, keyed by the envelope, and each 2xx to the history.
 * Final outcomes are marked: `relay recover` delivers an envelope without one again, so a record lost here costs a
 * duplicate at most.
 */
@Injectable()
export class AttemptLog {
  constructor(
    @Inject(ATTEMPTS_REPORTER) private readonly reporter: EventReporter,
    @Inject(HistoryWriter) private readonly history: Pick<HistoryWriter, 'delivered'>,
  ) {}

  /** Whether so many attempts wait to be reported that queued attempts pause. */
  get isFilling(): boolean {
    return this.reporter.isFilling;
  }

  /** @param tries all attempts of the delivery; the last one is reported */
  attempted(
    webhook: Webhook,
    delivery: DeliveryFacts,
    attempt: number,
    tries: readonly AttemptFacts[],
    decided: Disposition,
  ): void {
    const last = tries.at(-1) as AttemptFacts;
    this.#report(delivery, {
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
      this.history.delivered({ webhookId: webhook.id, envelopeId: delivery.envelopeId, attempts: tries });
  }

  /** A delivery ended without an attempt. */
  ended(delivery: DeliveryFacts, outcome: 'cancelled' | 'dead-letter', reason: string): void {
    this.#report(delivery, { at: new Date().toISOString(), outcome, reason, final: true });
  }

  #report(
    delivery: DeliveryFacts,
    facts: Omit<AttemptRecord, 'deliveryId' | 'envelopeId' | 'webhookId' | 'eventType'>,
  ): void {
    const { envelopeId, webhookId, eventType } = delivery;
    const record: AttemptRecord = { deliveryId: deliveryId(delivery), envelopeId, webhookId, eventType, ...facts };
    this.reporter.report(envelopeId, record);
  }

  close(): Promise<void> {
    return this.reporter.close();
  }
}
