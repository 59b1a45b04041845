import { Inject, Injectable } from '@nestjs/common';
import type { DeadLetterReason } from '@relay/dead-letters';
import { deliveryId, parseDeliveryId } from '@relay/delivery';
import { DisabledWebhookJobs, JobBodies, StoredJob, WaitingJobs } from '@relay/jobs';
import { RetryQueue } from '@relay/retry';
import { AttemptReports } from '../delivery/attempt-reports.js';

/**
 * `lastFailure` of a delivery whose body Redis has lost. Nothing can restore the body, so the delivery becomes a dead
 * letter.
 */
const BODY_LOST = 'Redis has lost the body of this delivery: have the source send the envelope under a new id';

/** Manages the data that queued deliveries have besides their jobs, and ends deliveries that are not answered 2xx. */
@Injectable()
export class QueuedJobs {
  constructor(
    private readonly bodies: JobBodies,
    @Inject(WaitingJobs) private readonly waiting: Pick<WaitingJobs, 'add' | 'ended'>,
    @Inject(DisabledWebhookJobs) private readonly held: Pick<DisabledWebhookJobs, 'hold'>,
    @Inject(RetryQueue) private readonly queue: Pick<RetryQueue, 'addDeadLetter'>,
    private readonly reports: AttemptReports,
  ) {}

  /** Returns the body; undefined if Redis has lost it. */
  bodyOf(job: StoredJob): Promise<string | undefined> {
    return this.bodies.of(job);
  }

  /** Stores that the job waits until its webhook is enabled. */
  hold(job: StoredJob): Promise<void> {
    return this.held.hold(job.webhookId, deliveryId(job));
  }

  /**
   * Counts a delivery as queued if the queue has its id but no job. The delivery stays counted until a worker has found out
   * whether it has ended or Redis has lost its job.
   */
  async missing(id: string): Promise<void> {
    const named = parseDeliveryId(id);
    if (named !== undefined) await this.waiting.add([{ ...named, body: '' }]);
  }

  /** Stops counting a delivery as queued. */
  async uncount(id: string): Promise<void> {
    const named = parseDeliveryId(id);
    if (named !== undefined) await this.waiting.ended(named);
  }

  /** Reports a delivery whose webhook was deleted. */
  cancelled(job: StoredJob): void {
    this.reports.cancelled(job);
  }

  /** Stores the dead letter before the job ends, so that a crash between the two steps loses nothing. */
  async addDeadLetter(job: StoredJob, reason: DeadLetterReason): Promise<void> {
    const body = (await this.bodies.of(job)) ?? '';
    await this.queue.addDeadLetter({ ...job, v: 1, body, reason, diedAt: Date.now() });
  }

  /** Makes a dead letter of a delivery whose horizon has passed before its next attempt. */
  async expired(job: StoredJob): Promise<void> {
    await this.addDeadLetter(job, 'horizon_passed');
    this.reports.died(job, 'horizon_passed');
  }

  async bodyLost(job: StoredJob): Promise<void> {
    const after = { ...job, lastFailure: BODY_LOST };
    await this.addDeadLetter(after, 'handling_failed');
    this.reports.died(after, 'handling_failed');
  }

  /**
   * Releases the data of a job that has ended. If Redis does not answer, the body expires later, and a recount corrects the
   * number of waiting deliveries.
   */
  ended(data: unknown): void {
    const stored = StoredJob.safeParse(data).data;
    if (stored === undefined) return;
    void this.bodies.release(stored).catch(() => undefined);
    void this.waiting.ended(stored).catch(() => undefined);
  }
}
