import { deliveryId } from '@relay/delivery';
import {
  DELIVERIES_QUEUE,
  DeliveryJob,
  bullOptions,
  isBeyondHorizon,
  type DeadLetterReason,
  type RetryPolicy,
  type RetryQueue,
} from '@relay/retry';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { RedisWebhookView } from '@relay/webhooks';
import { DelayedError, Worker, type Job } from 'bullmq';
import type { Redis } from 'ioredis';
import type { AttemptLog } from './attempt-log.js';
import type { Attempts } from './attempts.js';
import type { Courier } from './courier.js';
import type { DeliveryMetrics } from './delivery-metrics.js';

/** A job of a newer format than this worker knows is put back for a newer worker, which a rolling restart brings. */
const UNKNOWN_FORMAT_DELAY_MS = 30_000;

export interface AttemptProcessorParts {
  attempts: Attempts;
  courier: Courier;
  queue: RetryQueue;
  webhooks: RedisWebhookView;
  policy: RetryPolicy;
  attemptLog: AttemptLog;
  metrics: DeliveryMetrics;
  log: ThrottledLog;
  /** The version of the registrations in Redis now. */
  registryVersion: () => Promise<number>;
}

/**
 * Queued attempts. Attempt number, place in the schedule and deadline are ours, in the job's data: a job goes back by
 * `moveToDelayed` and `DelayedError`, which costs none of BullMQ's own attempts, and a worker that crashes leaves a
 * stalled job that is taken up again (`maxStalledCount` is high, or BullMQ would fail it after two crashes).
 */
export class AttemptProcessor {
  readonly #worker: Worker<unknown>;

  constructor(
    connection: Redis,
    concurrency: number,
    private readonly parts: AttemptProcessorParts,
  ) {
    this.#worker = new Worker(DELIVERIES_QUEUE, (job, token, signal) => this.#process(job, token, signal), {
      ...bullOptions(connection),
      concurrency,
      autorun: false,
      lockDuration: 20_000,
      stalledInterval: 5_000,
      maxStalledCount: 1_000_000,
    });
    this.#worker.on('error', (error) =>
      parts.log.warn('queue.fault', 'The queue reports a fault; queued attempts go on when it has passed', {
        reason: reasonOf(error),
      }),
    );
    this.#worker.on('failed', (_job, error) =>
      parts.log.warn('queue.step_failed', 'A step of a queued attempt failed; the job comes again in 5 s', {
        reason: reasonOf(error),
      }),
    );
  }

  start(): void {
    void this.#worker.run();
  }

  /** Takes no more jobs and waits for those that run. */
  close(): Promise<void> {
    return this.#worker.close();
  }

  async #process(job: Job<unknown>, token: string | undefined, signal?: AbortSignal): Promise<void> {
    const { courier, webhooks, policy } = this.parts;
    const parsed = DeliveryJob.safeParse(job.data);
    if (!parsed.success) return this.#putBack(job, token, Date.now() + UNKNOWN_FORMAT_DELAY_MS);
    const data = parsed.data;
    await webhooks.refreshTo(await this.parts.registryVersion());
    const webhook = webhooks.find(data.webhookId);
    if (webhook === undefined) return this.#cancel(data);
    if (isBeyondHorizon(Date.now(), data.acceptedAt, policy)) return this.#bury(data, 'horizon_passed');

    const slot = courier.take(webhook.endpoint);
    if (!slot.taken) return this.#putBack(job, token, slot.at);
    let durationMs = 0;
    let attempted;
    try {
      attempted = await this.parts.attempts.make(webhook, { ...data, body: Buffer.from(data.body, 'utf8') }, signal);
      durationMs = attempted.durationMs;
    } finally {
      courier.giveBack(webhook.endpoint, durationMs);
    }

    const { disposition, failure } = attempted;
    const after: DeliveryJob = {
      ...data,
      attempts: data.attempts + 1,
      ...(failure === undefined ? {} : { lastFailure: failure }),
    };
    switch (disposition.kind) {
      case 'delivered':
        return undefined;
      case 'retry':
        await job.updateData(after);
        return this.#putBack(job, token, disposition.at);
      case 'dead-letter':
        return this.#bury(after, disposition.reason);
      default:
        return disposition satisfies never;
    }
  }

  async #putBack(job: Job<unknown>, token: string | undefined, at: number): Promise<void> {
    await job.moveToDelayed(at, token);
    throw new DelayedError();
  }

  /** Before the job ends: a crash in between leaves both, never neither. */
  async #bury(data: DeliveryJob, reason: DeadLetterReason): Promise<void> {
    await this.parts.queue.bury({ ...data, reason, diedAt: Date.now() });
    if (reason === 'horizon_passed') {
      this.parts.metrics.ended(data.eventType, reason);
      this.parts.attemptLog.ended({ ...data, body: Buffer.alloc(0) }, 'dead-letter', reason);
    }
  }

  /** Its webhook was deleted meanwhile. */
  #cancel(data: DeliveryJob): void {
    this.parts.log.info('delivery.cancelled', 'A waiting delivery ended because its webhook was deleted', {
      jobId: deliveryId(data),
    });
    this.parts.metrics.ended(data.eventType, 'cancelled');
    this.parts.attemptLog.ended({ ...data, body: Buffer.alloc(0) }, 'cancelled', 'webhook deleted');
  }
}
