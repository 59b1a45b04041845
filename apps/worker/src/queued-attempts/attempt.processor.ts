import { Inject, Injectable } from '@nestjs/common';
import { deliveryId } from '@relay/delivery';
import { DUE_FIELD, StoredJob } from '@relay/jobs';
import { isBeyondHorizon } from '@relay/retry';
import { type OpenedWebhook, RedisWebhookView, type Webhook } from '@relay/webhooks';
import { DelayedError, type Job, type MoveToDelayedOpts } from 'bullmq';
import { type Attempted, EndpointReports } from '../delivery/attempt-reports.js';
import { ATTEMPT_SETTINGS, Attempts, type AttemptSettings, UNOPENED, UnopenedWebhooks } from '../delivery/attempts.js';
import { Breakers, NO_PROBE, type Probe } from '../delivery/breakers.js';
import { AttemptSlots } from '../delivery/attempt-slots.js';
import { UnprovenOrigins } from '../delivery/unproven-origins.js';
import { QueuedJobs } from './queued-jobs.js';

/** Whether a delivery that has a slot may be attempted now. If not, `at` is the time in epoch milliseconds to ask again. */
export type QueuedEntry =
  | { readonly kind: 'go'; readonly probe: Probe }
  /** The origin has never answered 2xx, so deliveries to it take turns. If `hasTurn`, this delivery has its turn at `at`. */
  | { readonly kind: 'turn-later'; readonly at: number; readonly hasTurn: boolean }
  /** The breaker of the webhook or of its endpoint is open. */
  | { readonly kind: 'later'; readonly at: number };

/**
 * Decides whether a queued attempt may be made now. The attempt needs a slot, a turn of its origin and, if a breaker is
 * open, the breaker's probe. The slot and the probe are released after the attempt.
 */
@Injectable()
export class QueuedAdmission {
  constructor(
    private readonly slots: AttemptSlots,
    private readonly breakers: Breakers,
    private readonly origins: UnprovenOrigins,
    private readonly reports: EndpointReports,
    private readonly unopened: UnopenedWebhooks,
  ) {}

  /** See `UnopenedWebhooks.open`. */
  open(webhook: Webhook): Promise<OpenedWebhook | number | undefined> {
    return this.unopened.open(webhook);
  }

  /** Takes a slot. @returns undefined if a slot was free, otherwise epoch milliseconds at which to ask again */
  takeSlot(webhook: Webhook): number | undefined {
    const now = Date.now();
    const rests = this.breakers.restsUntil(webhook, now);
    if (rests !== undefined) return rests;
    const slot = this.slots.take(webhook, this.breakers.isBarred(webhook, now));
    return slot.taken ? undefined : slot.at;
  }

  /**
   * Takes the turn and then the probe. The slot must be taken before. Otherwise, a delivery may claim the probe and then
   * find no slot, and all other deliveries wait for its probe. For the same reason, the turn is taken before the probe.
   */
  async enter(webhook: Webhook, job: StoredJob): Promise<QueuedEntry> {
    const turn = await this.origins.enter(webhook, { id: deliveryId(job), hasTurn: job.hasTurn === true });
    if (!turn.mayGo) return { kind: 'turn-later', at: turn.at, hasTurn: turn.hasTurn };
    const entry = await this.breakers.enter(webhook);
    return entry.mayGo ? { kind: 'go', probe: entry.probe } : { kind: 'later', at: entry.at };
  }

  /** Releases the slot and the probe. An aborted attempt is not counted as a success or failure of the endpoint. */
  leave(
    webhook: Webhook,
    entry: QueuedEntry | undefined,
    attempted: Attempted | undefined,
    isBrokenOff: boolean,
  ): void {
    const probe = entry?.kind === 'go' ? entry.probe : NO_PROBE;
    if (attempted === undefined) {
      this.reports.unused(webhook);
      void this.breakers.unclaim(webhook, probe, Date.now());
    } else if (isBrokenOff) this.reports.brokenOff(webhook, attempted, probe);
    else this.reports.ended(webhook, attempted, probe);
  }

  /** Reports the result of a probe to the breakers. */
  probed(webhook: Webhook, attempted: Attempted, probe: Probe): Promise<void> {
    return this.breakers.probed(webhook, attempted, probe, Date.now());
  }

  /** Calls `put` to put the job back until `at`. If the origin answers 2xx before `at`, the job becomes due at once. */
  async awaitTurn(endpoint: string, job: StoredJob, at: number, put: () => Promise<never>): Promise<never> {
    try {
      return await put();
    } finally {
      await this.origins.hold(endpoint, deliveryId(job), at);
    }
  }
}

/**
 * Delay in ms of a job whose format this worker does not know. During a rolling restart, a newer worker can take the job.
 */
const UNKNOWN_FORMAT_DELAY_MS = 30_000;

/** Minimum delay in ms of a job whose webhook is disabled. The job becomes due earlier if the webhook is enabled. */
const DISABLED_DELAY_MS = 60_000;

const UNREADABLE_DELAY_MS = 1_000;

/**
 * Makes queued attempts. A job's data contains the number of attempts made so far and the position in the retry schedule.
 * `putBack` delays a job without using up one of BullMQ's own attempts. If a worker crashes, BullMQ finds the jobs that it
 * was running, and another worker takes them.
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

/** The part of a BullMQ job that talks to Redis. Unlike `Job.moveToDelayed`, its `moveToDelayed` can also change fields. */
interface Backend {
  moveToDelayed(id: string, now: number, delayMs: number, token: string, opts: MoveToDelayedOpts): Promise<unknown>;
}

/**
 * Puts a job back, due at `at` (epoch milliseconds), and stores the result of its attempt in the same step. With two steps,
 * a crash between them can leave a job that is due at once although its attempt is already counted.
 * @param data the new data of the job; undefined keeps the old data
 * @throws DelayedError if the job was put back, because BullMQ expects this error; another error if the lock is lost, and
 *   then the job is unchanged
 */
export async function putBack(job: Job<unknown>, token: string, at: number, data?: object): Promise<never> {
  const now = Date.now();
  const fieldsToUpdate = { [DUE_FIELD]: String(at), ...(data === undefined ? {} : { data: JSON.stringify(data) }) };
  const backend = Reflect.get(job, 'backend') as Backend;
  await backend.moveToDelayed(job.id ?? '', now, Math.max(0, at - now), token, { skipAttempt: true, fieldsToUpdate });
  throw new DelayedError();
}
