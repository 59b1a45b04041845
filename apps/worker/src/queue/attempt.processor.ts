import { setTimeout as delay } from 'node:timers/promises';
import { deliveryId } from '@relay/delivery';
import {
  type HeldJobs,
  StoredJob,
  isBeyondHorizon,
  type DeadLetterReason,
  type JobBodies,
  type RetryPolicy,
  type RetryQueue,
  type WaitingJobs,
} from '@relay/retry';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { RedisWebhookView } from '@relay/webhooks';
import type { Job } from 'bullmq';
import type { Redis } from 'ioredis';
import type { AttemptLog } from '../delivery/attempt-log.js';
import type { Attempted, Attempts } from '../delivery/attempts.js';
import type { Breakers } from '../delivery/breakers.js';
import type { DeliveryDispatcher } from '../delivery/delivery-dispatcher.js';
import { FREE, type Admission, type UnprovenOrigins } from '../delivery/unproven-origins.js';
import { putBack } from './put-back.adapter.js';
import { QueueWorkers } from './queue-workers.adapter.js';

/** A job of a newer format than this worker knows is put back for a newer worker, which a rolling restart brings. */
const UNKNOWN_FORMAT_DELAY_MS = 30_000;

/** What waits for a disabled webhook is let go when that is enabled; by itself it looks after so long, or up to twice as long. */
const DISABLED_DELAY_MS = 60_000;

/** Nothing brings a lost body back by itself, so it is made visible at once. */
const BODY_LOST = 'Redis has lost the body of this delivery: have the source send the envelope under a new id';

export interface AttemptProcessorParts {
  attempts: Attempts;
  courier: DeliveryDispatcher;
  breakers: Breakers;
  probation: Pick<UnprovenOrigins, 'enter' | 'ended' | 'reserve' | 'hold'>;
  queue: RetryQueue;
  bodies: JobBodies;
  waiting: Pick<WaitingJobs, 'ended'>;
  held: Pick<HeldJobs, 'hold'>;
  webhooks: RedisWebhookView;
  policy: RetryPolicy;
  attemptLog: Pick<AttemptLog, 'isFilling'>;
  log: ThrottledLog;
}

/**
 * Queued attempts. Attempt number, place in the schedule and deadline are ours, in the job's data: a job goes back by
 * `moveToDelayed` and `DelayedError` (`putBack`), which costs none of BullMQ's own attempts, and a worker that crashes leaves a
 * stalled job that is taken up again.
 */
export class AttemptProcessor {
  readonly #workers: QueueWorkers;
  #isPaused = false;

  constructor(
    connection: Redis,
    concurrency: number,
    private readonly parts: AttemptProcessorParts,
  ) {
    this.#workers = new QueueWorkers(
      connection,
      concurrency,
      (job, token, signal) => this.#process(job, token, signal),
      // Only now has the job ended. A reference that is not dropped (Redis away, a crash) goes with its time to live.
      (data) => {
        const stored = StoredJob.safeParse(data).data;
        if (stored === undefined) return;
        void parts.bodies.release(stored).catch(() => undefined);
        void parts.waiting.ended(stored).catch(() => undefined);
      },
      parts.log,
    );
  }

  start(): void {
    this.#workers.start();
  }

  /** Takes no more jobs and waits for those that run. */
  close(): Promise<void> {
    return this.#workers.close();
  }

  async #process(job: Job<unknown>, token: string, signal?: AbortSignal): Promise<void> {
    const { courier, breakers, probation, webhooks, policy, bodies } = this.parts;
    if (this.parts.attemptLog.isFilling) {
      void this.#pauseUntilTold();
      return putBack(job, token, Date.now() + 1_000);
    }
    if (isEmpty(job.data) || job.finishedOn !== undefined) return this.#drop(job);
    const parsed = StoredJob.safeParse(job.data);
    if (!parsed.success) return putBack(job, token, Date.now() + UNKNOWN_FORMAT_DELAY_MS);
    const data = parsed.data;
    await webhooks.refresh();
    const webhook = webhooks.find(data.webhookId);
    if (webhook === undefined) return this.parts.attempts.cancelled(data);
    if (isBeyondHorizon(Date.now(), data.acceptedAt, policy)) return this.#buryUnattempted(data, 'horizon_passed');

    if (webhook.status === 'disabled') {
      await this.parts.held.hold(webhook.id, deliveryId(data));
      return putBack(job, token, Date.now() + Math.round(DISABLED_DELAY_MS * (1 + Math.random())));
    }
    const opened = await webhook.opened().catch(() => undefined);
    if (opened === undefined) return putBack(job, token, Date.now() + 1_000);
    const { endpoint } = webhook;
    const rests = breakers.restsUntil(endpoint, Date.now());
    if (rests !== undefined) return putBack(job, token, rests);
    // The slot first: a probe that was claimed and finds none would keep all others waiting.
    const slot = courier.take(endpoint);
    if (!slot.taken) return putBack(job, token, slot.at);
    let attempted;
    let isProbe = false;
    let admission: Admission = FREE;
    try {
      // Before a probe is claimed, which would keep all others waiting as well.
      admission = await probation.enter(endpoint, deliveryId(data));
      if (admission.kind === 'wait') return await this.#awaitTurn(job, token, endpoint, deliveryId(data));
      const entry = await breakers.enter(endpoint);
      if (!entry.mayGo) return await putBack(job, token, entry.at);
      ({ isProbe } = entry);
      const body = await bodies.of(data);
      if (body === undefined)
        return await this.#buryUnattempted({ ...data, lastFailure: BODY_LOST }, 'handling_failed');
      attempted = await this.parts.attempts.make(webhook, opened, { ...data, body: Buffer.from(body, 'utf8') }, signal);
      // Before its slot is free: what gets it must know that the endpoint asked for rest.
      if (!isProbe && !isBrokenOff(attempted, signal)) breakers.ended(endpoint, attempted, Date.now());
    } finally {
      const isUnused = attempted === undefined || signal?.aborted === true; // an attempt broken off says nothing of it
      const ended = isUnused ? 'unused' : attempted?.failed === true ? 'failed' : 'succeeded';
      courier.giveBack(endpoint, attempted?.durationMs ?? 0, ended);
      const isDelivered = attempted?.disposition.kind === 'delivered';
      void probation.ended(
        endpoint,
        admission,
        isDelivered ? 'delivered' : attempted === undefined ? 'unused' : 'failed',
      );
    }
    const { disposition, failure } = attempted;
    if (isBrokenOff(attempted, signal))
      throw new Error('the lock of the job was lost: the worker that has it now decides');
    if (isProbe) await breakers.probed(endpoint, attempted, Date.now());
    const after: StoredJob = {
      ...data,
      attempts: data.attempts + 1,
      tries: [...attempted.tries],
      ...(failure === undefined ? {} : { lastFailure: failure }),
    };
    switch (disposition.kind) {
      case 'delivered':
        return undefined;
      case 'retry':
        return putBack(job, token, disposition.at, after);
      case 'dead-letter':
        return this.#bury(after, disposition.reason);
      default:
        return disposition satisfies never;
    }
  }

  /** Its origin has never answered 2xx: until its turn comes, or that. */
  async #awaitTurn(job: Job<unknown>, token: string, endpoint: string, id: string): Promise<never> {
    const { probation } = this.parts;
    const at = probation.reserve(endpoint);
    try {
      return await putBack(job, token, at);
    } finally {
      await probation.hold(endpoint, id, at);
    }
  }

  /** Kafka is away: attempts that could not be told wait, as reading does by itself. */
  async #pauseUntilTold(): Promise<void> {
    if (this.#isPaused) return;
    this.#isPaused = true;
    const { attemptLog, log } = this.parts;
    log.warn('queue.paused', 'Kafka takes no records of attempts; queued attempts wait until it does');
    try {
      await this.#workers.pause();
      while (attemptLog.isFilling) await delay(500, undefined, { ref: false });
      log.info('queue.resumed', 'Kafka takes records of attempts again; queued attempts go on');
      await this.#workers.resume();
    } catch (error) {
      log.warn('queue.fault', 'The queue reports a fault; queued attempts go on when it has passed', {
        reason: reasonOf(error),
      });
    } finally {
      this.#isPaused = false;
    }
  }

  /** Before the job ends: a crash in between leaves both, never neither. */
  async #bury(data: StoredJob, reason: DeadLetterReason): Promise<void> {
    const body = (await this.parts.bodies.of(data)) ?? '';
    await this.parts.queue.bury({ ...data, v: 1, body, reason, diedAt: Date.now() });
  }

  async #buryUnattempted(data: StoredJob, reason: Parameters<Attempts['died']>[1]): Promise<void> {
    await this.#bury(data, reason);
    this.parts.attempts.died(data, reason);
  }

  /**
   * A job has ended when it says so, or when its data is gone. That its id comes all the same is the work of a second list
   * in which it stood, as the torn end of Redis' file can bring about (see `rewriteAfterRestart`): it would come for ever.
   */
  #drop(job: Job<unknown>): void {
    this.parts.log.warn('queue.leftover', 'The queue held the id of a delivery that has ended; it was dropped', {
      jobId: job.id,
    });
  }
}

const isBrokenOff = ({ disposition }: Attempted, signal?: AbortSignal): boolean =>
  signal?.aborted === true && disposition.kind !== 'delivered';

const isEmpty = (data: unknown): boolean => typeof data === 'object' && data !== null && Object.keys(data).length === 0;
