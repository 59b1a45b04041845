import { buildRequest, classify, type AttemptResult, type Outcome, type Sender } from '@relay/delivery';
import type { AttemptFacts } from '@relay/events';
import { disposition, type DeadLetterReason, type DeliveryJob, type Disposition, type RetryPolicy } from '@relay/retry';
import { reasonOf, type Log } from '@relay/telemetry';
import type { OpenedWebhook, Webhook } from '@relay/webhooks';
import type { AttemptLog } from './attempt-log.js';
import type { WebhookHealth } from '../webhook-health/webhook-health.js';
import type { DeliveryMetrics } from './delivery-metrics.js';
import { logFieldsOf } from './log-fields.js';

/** What an attempt needs of a delivery; a job is one. */
export type DeliveryToAttempt = Told & { body: Buffer };

/** What is told of a delivery; a stored job is one. */
export type Told = Omit<DeliveryJob, 'v' | 'body' | 'partnerId'>;

export interface Attempted {
  disposition: Disposition;
  durationMs: number;
  /** What failed, in words; undefined when it was delivered. */
  failure: string | undefined;
  /** All attempts of the delivery, this one included. */
  tries: readonly AttemptFacts[];
  /** Whether the endpoint failed; 410 is an answer that ends the delivery, not a failure of the endpoint. */
  failed: boolean;
  /** The endpoint asked for no attempt before this time. */
  notBefore: number | undefined;
}

export interface AttemptSettings {
  readonly policy: RetryPolicy;
  /** The relay's own, for `user-agent`. */
  readonly version: string;
}

/**
 * One attempt of a delivery, the same for a first one straight from the log and for a queued one: open the webhook's
 * credential, build, send, classify, decide, tell. It settles nothing: the caller does, and only after this returned.
 */
export class Attempts {
  constructor(
    private readonly sender: Sender,
    private readonly settings: AttemptSettings,
    private readonly attemptLog: AttemptLog,
    private readonly metrics: DeliveryMetrics,
    private readonly log: Log,
    private readonly health?: Pick<WebhookHealth, 'attempted'>,
  ) {}

  async make(webhook: Webhook, opened: OpenedWebhook, delivery: DeliveryToAttempt, signal?: AbortSignal): Promise<Attempted> {
    const attempt = delivery.attempts + 1;
    const startedAt = Date.now();
    const result = await this.#send(webhook, opened, delivery, attempt, startedAt, signal);
    const now = Date.now();
    const outcome = classify(result, now);
    const decided = disposition(outcome, attempt, this.settings.policy, {
      now,
      random: Math.random(),
      acceptedAt: delivery.acceptedAt,
    });
    const failure =
      outcome.kind === 'failed' ? outcome.detail : outcome.kind === 'gone' ? 'answered 410 Gone' : undefined;
    const facts: AttemptFacts = { at: startedAt, durationMs: Math.round(result.durationMs), ...shown(outcome) };
    if (failure !== undefined) facts.detail = failure;
    const tries = [...(delivery.tries ?? []), facts];
    // Broken off by us it is made again by whoever has the job now, under the same number: nothing to tell, and no end.
    const isBrokenOff = signal?.aborted === true && outcome.kind !== 'delivered';
    if (!isBrokenOff) {
      this.metrics.attempted(delivery.eventType, result, decided, latencyOf(delivery, startedAt, result));
      this.attemptLog.tell(webhook, delivery, attempt, tries, decided);
      this.health?.attempted(webhook, outcome.kind, now);
      if (failure !== undefined) this.#logFailure(delivery, attempt, decided, failure);
    }
    const notBefore = outcome.kind === 'failed' ? outcome.notBefore : undefined;
    return {
      disposition: decided,
      durationMs: result.durationMs,
      failure,
      tries,
      failed: outcome.kind === 'failed',
      notBefore,
    };
  }

  /** Counts and tells what became a dead letter without an attempt, which would have. */
  died(delivery: Told, reason: Extract<DeadLetterReason, 'horizon_passed' | 'handling_failed'>): void {
    this.metrics.ended(delivery.eventType, reason);
    this.attemptLog.ended(delivery, 'dead-letter', reason);
    this.#logDead(delivery, delivery.attempts, reason, delivery.lastFailure);
  }

  /** Counts and tells what ended because its webhook was deleted. */
  cancelled(delivery: Told): void {
    this.metrics.ended(delivery.eventType, 'cancelled');
    this.attemptLog.ended(delivery, 'cancelled', 'webhook deleted');
    this.log.info(
      'delivery.cancelled',
      'A waiting delivery ended because its webhook was deleted',
      logFieldsOf(delivery, delivery.attempts),
    );
  }

  async #send(
    webhook: Webhook,
    opened: OpenedWebhook,
    delivery: DeliveryToAttempt,
    attempt: number,
    now: number,
    signal?: AbortSignal,
  ): Promise<AttemptResult> {
    try {
      const { url } = webhook;
      const { body, envelopeId, eventType, traceparent } = delivery;
      const secrets = opened.secrets(now);
      const credential = opened.credential();
      const request = buildRequest({
        url,
        body,
        envelopeId,
        eventType,
        webhookId: webhook.id,
        attempt,
        now,
        secrets,
        credential,
        traceparent,
        version: this.settings.version,
      });
      return await this.sender.send(request, signal);
    } catch (error) {
      this.log.error(
        'delivery.unreadable_credential',
        'The credential of a webhook cannot be opened; the attempt failed and is repeated by schedule',
        { ...logFieldsOf(delivery, attempt), reason: reasonOf(error) },
      );
      return {
        kind: 'failed',
        error: 'unknown',
        detail: 'the relay could not read the credential of the webhook',
        durationMs: 0,
      };
    }
  }

  #logFailure(delivery: Told, attempt: number, decided: Disposition, failure: string): void {
    if (decided.kind === 'dead-letter') this.#logDead(delivery, attempt, decided.reason, failure);
    if (decided.kind !== 'retry') return;
    const at = new Date(decided.at).toISOString();
    this.log.debug('delivery.retried', 'An attempt failed; the next one is scheduled', {
      ...logFieldsOf(delivery, attempt),
      failure,
      at,
    });
  }

  #logDead(delivery: Told, attempt: number, reason: DeadLetterReason, failure: string | undefined): void {
    this.log.warn('delivery.dead', 'A delivery is a dead letter; replay it with `relay dead-letters replay`', {
      ...logFieldsOf(delivery, attempt),
      failure,
      reason,
    });
  }
}

/** From acceptance to the end of this attempt, however long it waited in the log before; undefined for a replay, which may come years later. */
const latencyOf = (
  { series, waitedSince, acceptedAt }: Told,
  startedAt: number,
  { durationMs }: AttemptResult,
): number | undefined => (series > 0 ? undefined : startedAt - (waitedSince ?? acceptedAt) + durationMs);

const shown = (outcome: Outcome): { status?: number; error?: string } => {
  if (outcome.kind !== 'failed') return { status: outcome.status };
  return {
    ...(outcome.status === undefined ? {} : { status: outcome.status }),
    ...(outcome.error === undefined ? {} : { error: outcome.error }),
  };
};
