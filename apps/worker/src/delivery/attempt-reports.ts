import { Inject, Injectable } from '@nestjs/common';
import type { DeadLetterReason } from '@relay/dead-letters';
import { deliveryId, type AttemptResult, type Outcome, type Reach } from '@relay/delivery';
import { traceIdOf, type AttemptFacts, type AttemptRecord } from '@relay/events';
import type { DeliveryJob } from '@relay/jobs';
import type { Disposition } from '@relay/retry';
import { Log } from '@relay/telemetry';
import type { Webhook } from '@relay/webhooks';
import { DeliveryMetrics } from '../metrics/delivery-metrics.js';
import { ATTEMPTS_REPORTER, type EventReporter } from '../reporting/event-reporter.js';
import { HistoryWriter } from '../reporting/history-writer.js';
import { WebhookHealth } from '../webhook-health/webhook-health.js';
import { Breakers, NO_PROBE, type Probe } from './breakers.js';
import { AttemptSlots } from './attempt-slots.js';
import { UnprovenOrigins } from './unproven-origins.js';

/** Members of a delivery that the reports need. A stored job has them too. */
export type DeliveryFacts = Omit<DeliveryJob, 'v' | 'body' | 'partnerId'>;

/** The parts of an endpoint's answer that are stored. */
export type KeptAnswer = Pick<AttemptFacts, 'answer' | 'answerHeaders'>;

/** Result of an attempt, as the breakers, the concurrency limits and the next step of the delivery need it. */
export interface Attempted {
  disposition: Disposition;
  durationMs: number;
  /** Description of the failure, with the beginning of the endpoint's answer. Undefined after a successful delivery. */
  failure: string | undefined;
  /** All attempts of the delivery, including this one. */
  tries: readonly AttemptFacts[];
  /** Whether the endpoint failed. An answer 410 ends the delivery, but is no failure of the endpoint. */
  failed: boolean;
  reach: Reach;
  /** Epoch milliseconds before which the endpoint wants no further attempt (`Retry-After`). */
  notBefore: number | undefined;
}

/** An attempt that has ended, and the decision on what happens next. */
export interface ReportedAttempt {
  readonly webhook: Webhook;
  readonly delivery: DeliveryFacts;
  readonly attempt: number;
  /** All attempts of the delivery. The last one is this attempt. */
  readonly tries: readonly AttemptFacts[];
  readonly result: AttemptResult;
  readonly outcome: Outcome;
  readonly decided: Disposition;
  /** Description of the failure. Undefined after a successful delivery. */
  readonly failure: string | undefined;
  /** The parts of the endpoint's answer that may be shown. Only set for failed attempts and a few successful ones. */
  readonly answer: KeptAnswer | undefined;
}

/**
 * Writes every attempt to the topic `relay.delivery-attempts` under the key of its envelope, and its result to the history.
 * The record of a final outcome is marked as final. `relay recover` delivers envelopes without a final outcome again, so the
 * loss of a record causes at most a duplicate.
 */
@Injectable()
export class AttemptLog {
  constructor(
    @Inject(ATTEMPTS_REPORTER) private readonly reporter: EventReporter,
    @Inject(HistoryWriter) private readonly history: Pick<HistoryWriter, 'of'>,
  ) {}

  /** Whether the buffer of reports is at least half full. Attempts from the queue pause during that time. */
  get isFilling(): boolean {
    return this.reporter.isFilling;
  }

  /** @param tries all attempts of the delivery; only the last one is reported */
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
    // The record is built as one object with its members in their final order, because copying it costs as much as its JSON.
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

  /** Reports a delivery that ended without another attempt. */
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
 * Converts epoch milliseconds to RFC 3339. The text up to the second is cached, because thousands of attempts start in the
 * same second.
 */
function textOf(at: number): string {
  const rest = at % SECOND_MS;
  if (at - rest !== second) {
    second = at - rest;
    start = new Date(second).toISOString().slice(0, -'000Z'.length);
  }
  return `${start}${String(rest).padStart(3, '0')}Z`;
}

/**
 * Reports attempts and ended deliveries to the metrics, the log, `relay.delivery-attempts` and the health of their webhook.
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

  /** Reports a delivery that became a dead letter without another attempt. */
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
 * Returns the milliseconds from acceptance of the envelope to the end of the attempt, including the time in the log.
 * Undefined for a replay, because it may take place years later.
 */
const latencyOf = (
  { series, waitedSince, acceptedAt }: DeliveryFacts,
  tries: readonly AttemptFacts[],
  { durationMs }: AttemptResult,
): number | undefined => (series > 0 ? undefined : (tries.at(-1)?.at ?? 0) - (waitedSince ?? acceptedAt) + durationMs);

/** Fields of every log line about a delivery. @param attempt number of the attempt that the line is about */
export const logFieldsOf = (
  delivery: Pick<DeliveryJob, 'envelopeId' | 'eventType' | 'webhookId' | 'traceparent'>,
  attempt: number,
) => ({
  envelopeId: delivery.envelopeId,
  eventType: delivery.eventType,
  webhookId: delivery.webhookId,
  attempt,
  traceId: traceIdOf(delivery.traceparent),
});

/** Reports the end of an attempt to the concurrency limits, the breakers and the list of proven origins. */
@Injectable()
export class EndpointReports {
  constructor(
    @Inject(AttemptSlots) private readonly slots: Pick<AttemptSlots, 'giveBack'>,
    @Inject(Breakers) private readonly breakers: Pick<Breakers, 'ended'>,
    @Inject(UnprovenOrigins) private readonly origins: Pick<UnprovenOrigins, 'delivered'>,
  ) {}

  /** @param probe breakers that this attempt probed; the caller reports its result to them with `Breakers.probed` */
  ended(webhook: Webhook, attempted: Attempted, probe: Probe = NO_PROBE): void {
    // The breakers must know the result first. Giving the slot back may start the next delivery, which asks the breakers.
    const isOrigins = this.breakers.ended(webhook, attempted, Date.now(), probe);
    this.slots.giveBack(
      webhook,
      attempted.durationMs,
      isOrigins ? 'unreached' : attempted.failed ? 'failed' : 'succeeded',
    );
    if (attempted.disposition.kind === 'delivered') void this.origins.delivered(webhook.endpoint);
  }

  /** Gives back a slot whose delivery was not attempted. */
  unused(webhook: Webhook): void {
    this.slots.giveBack(webhook, 0, 'unused');
  }

  /** Reports an attempt that this worker aborted. Unless the delivery succeeded, that says nothing about the endpoint. */
  brokenOff(webhook: Webhook, attempted: Attempted, probe: Probe = NO_PROBE): void {
    const isDelivered = attempted.disposition.kind === 'delivered';
    if (isDelivered) this.breakers.ended(webhook, attempted, Date.now(), probe);
    this.slots.giveBack(webhook, attempted.durationMs, 'unused');
    if (isDelivered) void this.origins.delivered(webhook.endpoint);
  }
}
