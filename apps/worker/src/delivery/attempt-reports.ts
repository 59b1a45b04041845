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

/** The members of a delivery that reports need; a stored job has them. */
export type DeliveryFacts = Omit<DeliveryJob, 'v' | 'body' | 'partnerId'>;

/** The parts of an endpoint's answer that are kept. */
export type KeptAnswer = Pick<AttemptFacts, 'answer' | 'answerHeaders'>;

/** The result of an attempt, as its limits and the next step of the delivery need it. */
export interface Attempted {
  disposition: Disposition;
  durationMs: number;
  /** Failure in words, with the beginning of the endpoint's answer; undefined after a delivery. */
  failure: string | undefined;
  /** All attempts of the delivery, this one included. */
  tries: readonly AttemptFacts[];
  /** Whether the endpoint failed. A 410 ends the delivery and is no failure of the endpoint. */
  failed: boolean;
  reach: Reach;
  /** Epoch milliseconds before which the endpoint asked for no attempt. */
  notBefore: number | undefined;
}

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
 * Writes every attempt to `relay.delivery-attempts`, keyed by the envelope, and its result to the history. Final outcomes are
 * marked: `relay recover` delivers an envelope without a final outcome again, so a lost record costs at most a duplicate.
 */
@Injectable()
export class AttemptLog {
  constructor(
    @Inject(ATTEMPTS_REPORTER) private readonly reporter: EventReporter,
    @Inject(HistoryWriter) private readonly history: Pick<HistoryWriter, 'of'>,
  ) {}

  /** Whether at least half of the buffer of reports is taken. Queued attempts pause then. */
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

/** The fields of every log line about a delivery. @param attempt number of the attempt in question, or of the last one */
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

/** Reports the end of an attempt to everything that limits the attempts of its webhook and its endpoint. */
@Injectable()
export class EndpointReports {
  constructor(
    @Inject(AttemptSlots) private readonly slots: Pick<AttemptSlots, 'giveBack'>,
    @Inject(Breakers) private readonly breakers: Pick<Breakers, 'ended'>,
    @Inject(UnprovenOrigins) private readonly origins: Pick<UnprovenOrigins, 'delivered'>,
  ) {}

  /** @param probe breakers whose probe it was; they get the result by `Breakers.probed` instead */
  ended(webhook: Webhook, attempted: Attempted, probe: Probe = NO_PROBE): void {
    // The breakers come first: the delivery that gets the slot must know that the webhook asked for rest.
    const isOrigins = this.breakers.ended(webhook, attempted, Date.now(), probe);
    this.slots.giveBack(
      webhook,
      attempted.durationMs,
      isOrigins ? 'unreached' : attempted.failed ? 'failed' : 'succeeded',
    );
    if (attempted.disposition.kind === 'delivered') void this.origins.delivered(webhook.endpoint);
  }

  /** Gives the slot back if no attempt was made. */
  unused(webhook: Webhook): void {
    this.slots.giveBack(webhook, 0, 'unused');
  }

  /** Reports an attempt that this worker aborted. It says nothing about the endpoint unless the delivery succeeded. */
  brokenOff(webhook: Webhook, attempted: Attempted, probe: Probe = NO_PROBE): void {
    const isDelivered = attempted.disposition.kind === 'delivered';
    if (isDelivered) this.breakers.ended(webhook, attempted, Date.now(), probe);
    this.slots.giveBack(webhook, attempted.durationMs, 'unused');
    if (isDelivered) void this.origins.delivered(webhook.endpoint);
  }
}
