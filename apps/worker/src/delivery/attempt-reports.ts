import { Inject, Injectable } from '@nestjs/common';
import type { DeadLetterReason } from '@relay/dead-letters';
import type { AttemptResult, Outcome } from '@relay/delivery';
import type { AttemptFacts } from '@relay/events';
import type { Disposition } from '@relay/retry';
import { Log } from '@relay/telemetry';
import type { Webhook } from '@relay/webhooks';
import { DeliveryMetrics } from '../metrics/delivery-metrics.js';
import { WebhookHealth } from '../webhook-health/webhook-health.js';
import { AttemptLog } from './attempt-log.js';
import type { DeliveryFacts, KeptAnswer } from './delivery-facts.js';
import { logFieldsOf } from './log-fields.js';

/** An attempt that was made and decided. */
export interface ReportedAttempt {
  readonly webhook: Webhook;
  readonly delivery: DeliveryFacts;
  readonly attempt: number;
  /** All attempts of the delivery; this one is the last. */
  readonly tries: readonly AttemptFacts[];
  readonly result: AttemptResult;
  readonly outcome: Outcome;
  readonly decided: Disposition;
  /** Failure in words; undefined after a delivery. */
  readonly failure: string | undefined;
  /** Answer of the endpoint, as far as it may be shown: kept after each failed attempt and a few successful ones. */
  readonly answer: KeptAnswer | undefined;
}

/**
 * Reports attempts and ends of deliveries in metrics, logs, `relay.delivery-attempts` and the health of their
 * webhooks.
 */
@Injectable()
export class AttemptReports {
  constructor(
    @Inject(AttemptLog) private readonly attemptLog: Pick<AttemptLog, 'attempted' | 'ended'>,
    private readonly metrics: DeliveryMetrics,
    @Inject(Log) private readonly log: Log,
    @Inject(WebhookHealth) private readonly health: Pick<WebhookHealth, 'attempted'>,
  ) {}

  attempted(attempted: ReportedAttempt): void {
    const { webhook, delivery, attempt, tries, result, outcome, decided, failure, answer } = attempted;
    this.metrics.attempted(delivery.eventType, result, decided, latencyOf(delivery, tries, result));
    this.attemptLog.attempted(webhook, delivery, attempt, tries, decided, answer);
    this.health.attempted(webhook, outcome.kind, Date.now());
    if (failure !== undefined) this.#logFailure(delivery, attempt, decided, failure);
  }

  /** Reports a delivery that became a dead letter without a further attempt. */
  died(delivery: DeliveryFacts, reason: Extract<DeadLetterReason, 'horizon_passed' | 'handling_failed'>): void {
    this.metrics.ended(delivery.eventType, reason);
    this.attemptLog.ended(delivery, 'dead-letter', reason);
    this.#logDead(delivery, delivery.attempts, reason, delivery.lastFailure);
  }

  /** Reports a delivery that ended because its webhook was deleted. */
  cancelled(delivery: DeliveryFacts): void {
    this.metrics.ended(delivery.eventType, 'cancelled');
    this.attemptLog.ended(delivery, 'cancelled', 'webhook deleted');
    this.log.info(
      'delivery.cancelled',
      'A waiting delivery ended because its webhook was deleted',
      logFieldsOf(delivery, delivery.attempts),
    );
  }

  #logFailure(delivery: DeliveryFacts, attempt: number, decided: Disposition, failure: string): void {
    if (decided.kind === 'dead-letter') this.#logDead(delivery, attempt, decided.reason, failure);
    if (decided.kind !== 'retry') return;
    const at = new Date(decided.at).toISOString();
    this.log.debug('delivery.retried', 'An attempt failed; the next one is scheduled', {
      ...logFieldsOf(delivery, attempt),
      failure,
      at,
    });
  }

  #logDead(delivery: DeliveryFacts, attempt: number, reason: DeadLetterReason, failure: string | undefined): void {
    this.log.warn('delivery.dead', 'A delivery is a dead letter; replay it with `relay dead-letters replay`', {
      ...logFieldsOf(delivery, attempt),
      failure,
      reason,
    });
  }
}

/**
 * Returns the milliseconds from acceptance to the end of the attempt, time in the log included; undefined for a replay, which may
 * be made years later.
 */
const latencyOf = (
  { series, waitedSince, acceptedAt }: DeliveryFacts,
  tries: readonly AttemptFacts[],
  { durationMs }: AttemptResult,
): number | undefined => (series > 0 ? undefined : (tries.at(-1)?.at ?? 0) - (waitedSince ?? acceptedAt) + durationMs);
