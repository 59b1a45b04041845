import { Inject, Injectable } from '@nestjs/common';
import { StoredJob } from '@relay/jobs';
import { isBeyondHorizon } from '@relay/retry';
import { RedisWebhookView, type OpenedWebhook, type Webhook } from '@relay/webhooks';
import type { Job } from 'bullmq';
import type { Attempted } from '../delivery/attempt-reports.js';
import { ATTEMPT_SETTINGS, Attempts, type AttemptSettings } from '../delivery/attempts.js';
import { UNOPENED } from '../delivery/unopened-webhooks.js';
import { putBack } from './put-back.adapter.js';
import { QueuedAdmission, type QueuedEntry } from './queued-admission.js';
import { QueuedJobs } from './queued-jobs.js';

/** Delay in ms of a job whose format is newer than this worker knows. A rolling restart brings a newer worker. */
const UNKNOWN_FORMAT_DELAY_MS = 30_000;

/** Delay in ms, or up to twice as much, of a job of a disabled webhook. Enabling the webhook makes the job due earlier. */
const DISABLED_DELAY_MS = 60_000;

const UNREADABLE_DELAY_MS = 1_000;

/**
 * Makes a queued attempt. The job's data has the attempt number, the place in the schedule and the deadline. A job is put back by
 * `moveToDelayed` and `DelayedError` (`putBack`), which uses up none of BullMQ's own attempts. A worker that crashes leaves a
 * stalled job, which another worker takes.
 */
@Injectable()
export class AttemptProcessor {
  constructor(
    private readonly webhooks: RedisWebhookView,
    private readonly admission: QueuedAdmission,
    private readonly attempts: Attempts,
    private readonly jobs: QueuedJobs,
    @Inject(ATTEMPT_SETTINGS) private readonly settings: Pick<AttemptSettings, 'policy'>,
  ) {}

  async process(job: Job<unknown>, token: string, signal?: AbortSignal): Promise<void> {
    const parsed = StoredJob.safeParse(job.data);
    if (!parsed.success) return putBack(job, token, Date.now() + UNKNOWN_FORMAT_DELAY_MS);
    const { data } = parsed;
    await this.webhooks.refresh();
    const webhook = this.webhooks.find(data.webhookId);
    if (webhook === undefined) return this.jobs.cancelled(data);
    if (isBeyondHorizon(Date.now(), data.acceptedAt, this.settings.policy)) return this.jobs.expired(data);
    if (webhook.status === 'disabled') {
      await this.jobs.hold(data);
      return putBack(job, token, Date.now() + Math.round(DISABLED_DELAY_MS * (1 + Math.random())));
    }
    const opened = await this.admission.open(webhook);
    if (opened === undefined) return putBack(job, token, Date.now() + UNREADABLE_DELAY_MS);
    if (typeof opened === 'number') return putBack(job, token, opened, { ...data, lastFailure: UNOPENED });
    const at = this.admission.takeSlot(webhook);
    if (at !== undefined) return putBack(job, token, at);
    return this.#attempt({ job, token, data, signal }, webhook, opened);
  }

  /** Attempts a job that has a slot. */
  async #attempt(taken: TakenJob, webhook: Webhook, opened: OpenedWebhook): Promise<void> {
    const { job, token, data, signal } = taken;
    const { endpoint } = webhook;
    let entry: QueuedEntry | undefined;
    let attempted: Attempted | undefined;
    try {
      entry = await this.admission.enter(webhook, data);
      if (entry.kind === 'turn-later') {
        const { at, hasTurn } = entry;
        const after = hasTurn ? { ...data, hasTurn } : undefined;
        return await this.admission.awaitTurn(endpoint, data, at, () => putBack(job, token, at, after));
      }
      if (entry.kind === 'later') return await putBack(job, token, entry.at);
      const body = await this.jobs.bodyOf(data);
      if (body === undefined) return await this.jobs.bodyLost(data);
      attempted = await this.attempts.make(webhook, opened, { ...data, body: Buffer.from(body, 'utf8') }, signal);
    } finally {
      this.admission.leave(webhook, entry, attempted, signal?.aborted === true);
    }
    if (signal?.aborted === true && attempted.disposition.kind !== 'delivered')
      throw new Error('the lock of the job was lost: the worker that has it now decides');
    await this.admission.probed(webhook, attempted, entry.probe);
    return this.#decide(taken, attempted);
  }

  async #decide({ job, token, data }: TakenJob, { disposition, tries, failure }: Attempted): Promise<void> {
    const after: StoredJob = {
      ...data,
      attempts: data.attempts + 1,
      hasTurn: undefined,
      tries: [...tries],
      ...(failure === undefined ? {} : { lastFailure: failure }),
    };
    switch (disposition.kind) {
      case 'delivered':
        return undefined;
      case 'retry':
        return putBack(job, token, disposition.at, after);
      case 'dead-letter':
        return this.jobs.addDeadLetter(after, disposition.reason);
      default:
        return disposition satisfies never;
    }
  }
}

interface TakenJob {
  readonly job: Job<unknown>;
  readonly token: string;
  readonly data: StoredJob;
  /** Aborts when the lock of the job is lost. */
  readonly signal: AbortSignal | undefined;
}
