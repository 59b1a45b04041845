import { buildRequest, classify, type AttemptResult, type Outcome, type Sender } from '@relay/delivery';
import { traceIdOf, type AttemptFacts } from '@relay/events';
import { disposition, type DeliveryJob, type Disposition, type RetryPolicy } from '@relay/retry';
import { reasonOf, type Log } from '@relay/telemetry';
import type { Webhook } from '@relay/webhooks';
import type { AttemptLog } from './attempt-log.js';
import type { WebhookHealth } from '../parking/webhook-health.js';
import type { DeliveryMetrics } from './delivery-metrics.js';

/** What an attempt needs of a delivery; a job is one. */
export type Attemptable = Omit<DeliveryJob, 'v' | 'body' | 'partnerId'> & { body: Buffer };

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
 * One attempt of a delivery, the same for a first one straight from the log and for a queued one: read the webhook's
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

  async make(webhook: Webhook, delivery: Attemptable, signal?: AbortSignal): Promise<Attempted> {
    const attempt = delivery.attempts + 1;
    const startedAt = Date.now();
    const result = await this.#send(webhook, delivery, attempt, startedAt, signal);
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
      this.metrics.attempted(delivery.eventType, result, decided, startedAt - delivery.acceptedAt + result.durationMs);
      this.attemptLog.tell(webhook, delivery, attempt, tries, decided);
      this.health?.attempted(webhook, outcome.kind, now);
      if (failure !== undefined) this.#logFailure(webhook, delivery, attempt, decided, failure);
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

  async #send(
    webhook: Webhook,
    delivery: Attemptable,
    attempt: number,
    now: number,
    signal?: AbortSignal,
  ): Promise<AttemptResult> {
    try {
      const { url } = webhook;
      const { body, envelopeId, eventType, traceparent } = delivery;
      const secrets = webhook.secrets(now);
      const credential = webhook.credential();
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
        {
          envelopeId: delivery.envelopeId,
          webhookId: webhook.id,
          attempt,
          traceId: traceIdOf(delivery.traceparent),
          reason: reasonOf(error),
        },
      );
      return {
        kind: 'failed',
        error: 'unknown',
        detail: 'the relay could not read the credential of the webhook',
        durationMs: 0,
      };
    }
  }

  #logFailure(webhook: Webhook, delivery: Attemptable, attempt: number, decided: Disposition, failure: string): void {
    const fields = {
      envelopeId: delivery.envelopeId,
      eventType: delivery.eventType,
      webhookId: webhook.id,
      attempt,
      traceId: traceIdOf(delivery.traceparent),
      failure,
    };
    if (decided.kind === 'retry') {
      this.log.debug('delivery.retried', 'An attempt failed; the next one is scheduled', {
        ...fields,
        at: new Date(decided.at).toISOString(),
      });
    } else if (decided.kind === 'dead-letter') {
      this.log.warn('delivery.dead', 'A delivery is a dead letter; replay it with `relay dead-letters replay`', {
        ...fields,
        reason: decided.reason,
      });
    }
  }
}

const shown = (outcome: Outcome): { status?: number; error?: string } => {
  if (outcome.kind !== 'failed') return { status: outcome.status };
  return {
    ...(outcome.status === undefined ? {} : { status: outcome.status }),
    ...(outcome.error === undefined ? {} : { error: outcome.error }),
  };
};
