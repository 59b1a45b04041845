import { Inject, Injectable } from '@nestjs/common';
import {
  type AttemptResult,
  buildRequest,
  classify,
  deliveryId,
  type Outcome,
  reachOf,
  Sender,
  shownAnswer,
} from '@relay/delivery';
import type { AttemptFacts, EnvelopeRecord } from '@relay/events';
import { type DeliveryJob, newJob, untilStored } from '@relay/jobs';
import { CannotOpen } from '@relay/keyring';
import { disposition, type RetryPolicy, RetryQueue } from '@relay/retry';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import type { OpenedWebhook, Webhook } from '@relay/webhooks';
import {
  type Attempted,
  AttemptReports,
  type DeliveryFacts,
  EndpointReports,
  type KeptAnswer,
} from './attempt-reports.js';
import type { StoreAgain } from '../log/pending-writes.js';

/** Delay in ms before a webhook is opened again. A key comes only with a new process, or the partner sends a new credential. */
const LOOK_AGAIN_MS = 30_000;

/** `lastFailure` of a delivery that waits for a key. */
export const UNOPENED = 'no key in ENCRYPTION_KEYS of the worker opens the credential of the webhook';

/**
 * Webhooks whose credential or signing secret no key of this worker opens. The worker makes no attempt for them, so none counts as
 * failed. Their deliveries wait; those of other webhooks do not.
 */
@Injectable()
export class UnopenedWebhooks {
  readonly #found = new Map<string, { readonly version: number; readonly until: number }>();

  constructor(private readonly log: ThrottledLog) {}

  has({ id, version }: Pick<Webhook, 'id' | 'version'>): boolean {
    return this.#found.get(id)?.version === version;
  }

  /** Epoch milliseconds at which a delivery of the webhook is due again; undefined when it may be tried. */
  notBefore(webhook: Pick<Webhook, 'id' | 'version'>, now: number): number | undefined {
    const until = this.has(webhook) ? (this.#found.get(webhook.id)?.until ?? 0) : 0;
    // The times are spread, because a webhook may have many deliveries.
    return now < until ? until + Math.round(LOOK_AGAIN_MS * Math.random()) : undefined;
  }

  /**
   * Opens a webhook.
   * @returns if no key opens it, epoch milliseconds at which to come again; undefined if Redis is away or the registration has
   *   changed
   */
  async open(webhook: Webhook): Promise<OpenedWebhook | number | undefined> {
    const at = this.notBefore(webhook, Date.now());
    if (at !== undefined) return at;
    try {
      const opened = await webhook.opened();
      this.#found.delete(webhook.id);
      return opened;
    } catch (error) {
      if (!(error instanceof CannotOpen)) return undefined;
      const { id, partnerId, version } = webhook;
      const now = Date.now();
      this.#found.set(id, { version, until: now + LOOK_AGAIN_MS });
      this.log.warn('delivery.unreadable_credential', 'Deliveries of a webhook wait: no key opens its credential', {
        webhookId: id,
        partnerId,
        reason: reasonOf(error),
      });
      return this.notBefore(webhook, now);
    }
  }
}

/** The members of a delivery that an attempt needs; a job has them. */
export type DeliveryToAttempt = DeliveryFacts & { body: Buffer };

export const ATTEMPT_SETTINGS = Symbol('settings of attempts');

export interface AttemptSettings {
  readonly policy: RetryPolicy;
  /** The relay's own version, for `user-agent`. */
  readonly version: string;
}

/** Characters kept of each answer before the last one of a delivery: all of them are in Redis. */
const SAID = 256;

/** Interval in ms at which this worker keeps the answer to a successful attempt of a webhook. */
const EVERY_MS = 600_000;
/** Maximum of webhooks in memory; at the maximum all are forgotten, so each is due again. */
const MOST = 50_000;

/** Chooses the successful attempts of a webhook whose answers are kept: few, so that keeping them costs nothing. */
@Injectable()
export class GoodAnswers {
  readonly #lastAt = new Map<string, number>();

  /** Returns whether to keep the answer to this attempt. If so, the next one is due ten minutes later. */
  isDue(webhookId: string, now: number): boolean {
    if (now - (this.#lastAt.get(webhookId) ?? -Infinity) < EVERY_MS) return false;
    if (this.#lastAt.size >= MOST) this.#lastAt.clear();
    this.#lastAt.set(webhookId, now);
    return true;
  }
}

/**
 * Makes one attempt of a straight or queued delivery: builds and sends the request, classifies the answer, decides what follows
 * and reports. The caller settles the delivery afterwards.
 */
@Injectable()
export class Attempts {
  constructor(
    @Inject(Sender) private readonly sender: Sender,
    @Inject(ATTEMPT_SETTINGS) private readonly settings: AttemptSettings,
    private readonly reports: AttemptReports,
    @Inject(GoodAnswers) private readonly goodAnswers: Pick<GoodAnswers, 'isDue'>,
  ) {}

  async make(
    webhook: Webhook,
    opened: OpenedWebhook,
    delivery: DeliveryToAttempt,
    signal?: AbortSignal,
  ): Promise<Attempted> {
    const attempt = delivery.attempts + 1;
    const startedAt = Date.now();
    const { body, envelopeId, eventType, traceparent } = delivery;
    const sent = { body, envelopeId, eventType, traceparent, attempt, now: startedAt, version: this.settings.version };
    const result = await this.sender.send(buildRequest({ webhook, opened, ...sent }), signal);
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
    const isShown = failure !== undefined || this.goodAnswers.isDue(webhook.id, startedAt);
    const answer = isShown ? answerOf(result, opened, startedAt) : undefined;
    if (failure !== undefined) {
      facts.detail = failure;
      Object.assign(facts, answer);
    }
    if (result.timing !== undefined) facts.timing = result.timing;
    const notBefore = outcome.kind === 'failed' ? outcome.notBefore : undefined;
    if (notBefore !== undefined) facts.notBefore = notBefore;
    const tries = [...(delivery.tries ?? []).map(shortened), facts];
    // If this worker broke the attempt off, the worker that has the job now makes it again under the same number.
    const isBrokenOff = signal?.aborted === true && outcome.kind !== 'delivered';
    if (!isBrokenOff)
      this.reports.attempted({ webhook, delivery, attempt, tries, result, outcome, decided, failure, answer });
    return {
      disposition: decided,
      durationMs: result.durationMs,
      failure,
      tries,
      failed: outcome.kind === 'failed',
      reach: reachOf(result),
      notBefore,
    };
  }

  /** Reports a delivery whose handling failed. */
  failed(delivery: DeliveryFacts): void {
    this.reports.died(delivery, 'handling_failed');
  }
}

/** Returns the answer as the members of `AttemptFacts` that keep it. */
function answerOf(result: AttemptResult, opened: OpenedWebhook, now: number): KeptAnswer | undefined {
  if (result.kind === 'failed' || result.answer === undefined) return undefined;
  const { text, headers } = shownAnswer(result.answer, opened.credential(), opened.secrets(now));
  return {
    ...(text === undefined ? {} : { answer: text }),
    ...(headers === undefined ? {} : { answerHeaders: { ...headers } }),
  };
}

/** Returns an earlier attempt as jobs keep it: without headers, timing and `notBefore`, and with a shortened answer. */
function shortened({
  answerHeaders: _headers,
  timing: _timing,
  notBefore: _notBefore,
  ...kept
}: AttemptFacts): AttemptFacts {
  if (kept.answer !== undefined) kept.answer = kept.answer.slice(0, SAID);
  return kept;
}

const shown = (outcome: Outcome): { status?: number; error?: string } => {
  if (outcome.kind !== 'failed') return { status: outcome.status };
  return {
    ...(outcome.status === undefined ? {} : { status: outcome.status }),
    ...(outcome.error === undefined ? {} : { error: outcome.error }),
  };
};

/** A delivery whose first attempt is made straight from the log. */
export interface Delivery {
  readonly webhook: Webhook;
  readonly record: EnvelopeRecord;
  /** Number of the replay that it belongs to; 0 without one. */
  readonly series?: number;
  /** Set if the delivery waited in the log for a parked webhook, or belongs to a replay. */
  readonly isCaughtUp?: true;
  /**
   * Ends the delivery. Called once, when it was answered 2xx or its job or dead letter is stored.
   * @param again stores that job or dead letter again
   */
  settle(again?: StoreAgain): void;
}

export const jobOf = ({ webhook, record, series }: Delivery): DeliveryJob => newJob(webhook, record, series);

/**
 * Makes the first attempt of a straight delivery and stores what follows. Each promise resolves when the delivery is settled:
 * with undefined after a 2xx, otherwise with the step that stores its job or dead letter again. No promise rejects: a step that
 * Redis does not take is repeated.
 */
@Injectable()
export class StraightAttempts {
  constructor(
    @Inject(Attempts) private readonly attempts: Pick<Attempts, 'make' | 'failed'>,
    private readonly reports: EndpointReports,
    @Inject(RetryQueue) private readonly queue: Pick<RetryQueue, 'add' | 'addDeadLetter'>,
    private readonly log: ThrottledLog,
    @Inject(UnopenedWebhooks) private readonly unopened: Pick<UnopenedWebhooks, 'open'>,
  ) {}

  /** Attempts a delivery that has a slot, and gives the slot back. */
  async make(delivery: Delivery): Promise<StoreAgain | undefined> {
    const { webhook } = delivery;
    const opened = await this.unopened.open(webhook);
    if (typeof opened !== 'object') {
      this.reports.unused(webhook);
      if (opened !== undefined) return this.store({ ...jobOf(delivery), lastFailure: UNOPENED }, opened);
      // Redis is away, or the registration has changed: a job looks the registration up again.
      return this.store(jobOf(delivery), Date.now());
    }
    const attempted = await this.#attempt(delivery, opened);
    this.reports.ended(webhook, attempted);
    const { disposition: decided } = attempted;
    switch (decided.kind) {
      case 'delivered':
        return undefined;
      case 'retry':
        return this.store(afterFirst(delivery, attempted), decided.at);
      case 'dead-letter': {
        const letter = { ...afterFirst(delivery, attempted), reason: decided.reason, diedAt: Date.now() };
        return this.#confirmed(() => this.queue.addDeadLetter(letter), deliveryId(letter));
      }
      default:
        return decided satisfies never;
    }
  }

  /** Makes a delivery whose handling failed, a fault of ours, a dead letter, so that it is visible and the worker goes on. */
  async fail(delivery: Delivery, error: unknown): Promise<StoreAgain> {
    const reason = 'handling_failed';
    const letter = { ...jobOf(delivery), lastFailure: reasonOf(error), reason, diedAt: Date.now() } as const;
    const again = await this.#confirmed(() => this.queue.addDeadLetter(letter), deliveryId(letter));
    this.attempts.failed(letter);
    return again;
  }

  /** Makes the delivery a job that is due at `at`, in epoch milliseconds. */
  store(job: DeliveryJob, at: number): Promise<StoreAgain> {
    return this.#confirmed(() => this.queue.add({ job, at }), deliveryId(job));
  }

  async #attempt({ webhook, record, series = 0 }: Delivery, opened: OpenedWebhook): Promise<Attempted> {
    const { envelope, acceptedAt, waitedSince, traceparent } = record;
    const { id: envelopeId, type: eventType, contentHash: hash, bytes: body } = envelope;
    const facts = { webhookId: webhook.id, envelopeId, eventType, hash, series, attempts: 0 };
    try {
      return await this.attempts.make(webhook, opened, { ...facts, acceptedAt, waitedSince, traceparent, body });
    } catch (error) {
      this.reports.unused(webhook);
      throw error;
    }
  }

  async #confirmed(add: StoreAgain, jobId: string): Promise<StoreAgain> {
    await untilStored(add, this.log, { jobId });
    return add;
  }
}

const afterFirst = (delivery: Delivery, { tries, failure }: Attempted): DeliveryJob => ({
  ...jobOf(delivery),
  attempts: 1,
  tries: [...tries],
  ...(failure === undefined ? {} : { lastFailure: failure }),
});
