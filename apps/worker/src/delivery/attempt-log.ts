import { Inject, Injectable } from '@nestjs/common';
import { deliveryId } from '@relay/delivery';
import type { AttemptFacts, AttemptRecord } from '@relay/events';
import type { Disposition } from '@relay/retry';
import type { Webhook } from '@relay/webhooks';
import type { EventReporter } from '../reporting/event-reporter.js';
import { HistoryWriter } from '../reporting/history-writer.js';
import { ATTEMPTS_REPORTER } from '../reporting/reporters.js';
import type { DeliveryFacts, KeptAnswer } from './delivery-facts.js';

/**
 * Writes every attempt to `relay.delivery-attempts`, keyed by the envelope, and its result to the history. Final outcomes are
 * marked: `relay recover` delivers an envelope without a final outcome again, so a lost record costs at most a duplicate.
 */
@Injectable()
export class AttemptLog {
  constructor(
    @Inject(ATTEMPTS_REPORTER) private readonly reporter: EventReporter,
    @Inject(HistoryWriter) private readonly history: Pick<HistoryWriter, 'of'>,
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
    kept?: KeptAnswer,
  ): void {
    const last = tries.at(-1) as AttemptFacts;
    const { at, durationMs, status, error, detail, timing } = last;
    const { envelopeId, webhookId, eventType, series, acceptedAt, waitedSince = acceptedAt } = delivery;
    // One object with its members in the order of the record: each copy costs as much time as writing its JSON.
    const record: AttemptRecord = {
      deliveryId: deliveryId(delivery),
      envelopeId,
      webhookId,
      eventType,
      partnerId: webhook.partnerId,
      attempt,
      at: textOf(at),
      durationMs,
      status,
      error,
      detail,
      answer: kept?.answer,
      answerHeaders: kept?.answerHeaders,
      timing,
      outcome: decided.kind,
      reason: decided.kind === 'dead-letter' ? decided.reason : undefined,
      nextAt: decided.kind === 'retry' ? new Date(decided.at).toISOString() : undefined,
      final: decided.kind !== 'retry',
    };
    this.reporter.report(envelopeId, record);
    const history = this.history.of(envelopeId);
    if (decided.kind !== 'delivered') return history.failed(webhookId, last);
    history.delivered({ webhookId, envelopeId, acceptedAt: waitedSince, series, attempts: tries });
    if (kept !== undefined) history.answered(webhookId, { ...last, ...kept });
  }

  /** Reports a delivery that ended without a further attempt. */
  ended(delivery: DeliveryFacts, outcome: 'cancelled' | 'dead-letter', reason: string): void {
    const { envelopeId, webhookId, eventType } = delivery;
    const record: AttemptRecord = {
      deliveryId: deliveryId(delivery),
      envelopeId,
      webhookId,
      eventType,
      at: textOf(Date.now()),
      outcome,
      reason,
      final: true,
    };
    this.reporter.report(envelopeId, record);
  }

  close(): Promise<void> {
    return this.reporter.close();
  }
}

const SECOND_MS = 1_000;
let second = Number.NaN;
let start = '';

/**
 * Returns the RFC 3339 text of a time in epoch milliseconds. Thousands of attempts begin in one second, so its text is made once.
 */
function textOf(at: number): string {
  const rest = at % SECOND_MS;
  if (at - rest !== second) {
    second = at - rest;
    start = new Date(second).toISOString().slice(0, -'000Z'.length);
  }
  return `${start}${String(rest).padStart(3, '0')}Z`;
}
