import { deliveryId } from '@relay/delivery';
import { deliveryAttemptsTopic } from '@relay/events';
import type { Publisher } from '@relay/publishing';
import { type Disposition } from '@relay/retry';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { Webhook } from '@relay/webhooks';
import type { Attemptable } from './attempts.js';

export interface AttemptDetails {
  attempt: number;
  startedAt: number;
  durationMs: number;
  status?: number;
  error?: string;
  failure: string | undefined;
}

interface Told {
  key: string;
  value: Buffer;
}

/** Records kept in memory while Kafka is away; what comes on top is dropped and counted. */
const MAX_WAITING = 20_000;

/**
 * Tells every attempt on `relay.delivery-attempts`, beside the path of delivery: batched, repeated, bounded. A record
 * lost here loses no delivery: without a final outcome there, a recovery only delivers once more.
 */
export class AttemptLog {
  #waiting: Told[] = [];
  #publishing: Promise<void> | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #topic: string;

  constructor(
    private readonly publisher: Publisher,
    prefix: string,
    private readonly log: ThrottledLog,
    everyMs = 200,
  ) {
    this.#topic = deliveryAttemptsTopic(prefix);
    this.#timer = setInterval(() => void this.#publish(), everyMs);
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

  #push(delivery: Attemptable, facts: Record<string, unknown>): void {
    if (this.#waiting.length >= MAX_WAITING) {
      this.log.warn(
        'attempts.dropped',
        'Kafka takes no attempt records and the memory for them is full; records are dropped, deliveries go on',
      );
      return;
    }
    const { envelopeId, webhookId, eventType } = delivery;
    const record = { deliveryId: deliveryId(delivery), envelopeId, webhookId, eventType, ...facts };
    this.#waiting.push({ key: envelopeId, value: Buffer.from(JSON.stringify(record)) });
  }

  async #publish(): Promise<void> {
    if (this.#publishing !== undefined || this.#waiting.length === 0) return;
    const batch = this.#waiting.splice(0, 2_000);
    this.#publishing = this.#send(batch).finally(() => (this.#publishing = undefined));
    await this.#publishing;
  }

  async #send(batch: Told[]): Promise<void> {
    const topic = this.#topic;
    const results = await Promise.allSettled(
      batch.map(({ key, value }) =>
        this.publisher.publish({ topic, key, value, headers: { 'content-type': 'application/json' } }),
      ),
    );
    const failed = results.flatMap((result, index) =>
      result.status === 'rejected' ? [{ told: batch[index] as Told, reason: result.reason as unknown }] : [],
    );
    const [first] = failed;
    if (first === undefined) return;
    this.log.warn('attempts.delayed', 'Attempt records were not acknowledged by Kafka; they are sent again', {
      records: failed.length,
      reason: reasonOf(first.reason),
    });
    this.#waiting.unshift(...failed.map(({ told }) => told));
  }

  /** Sends what waits, once; what Kafka does not take now is left out. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#publishing;
    while (this.#waiting.length > 0) {
      const before = this.#waiting.length;
      await this.#publish();
      if (this.#waiting.length >= before) return;
    }
  }
}
