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

/**
 * Milliseconds before the worker tries again to decrypt a credential. Decryption succeeds only after the worker was
 * restarted with the key, or the partner has sent a new credential.
 */
const LOOK_AGAIN_MS = 30_000;

/** `lastFailure` of a delivery whose credential cannot be decrypted. */
export const UNOPENED = 'no key in ENCRYPTION_KEYS of the worker opens the credential of the webhook';

/**
 * Webhooks whose credential or signing secret this worker cannot decrypt, because it lacks the key. The worker makes no
 * attempts for these webhooks, so no attempt counts as failed. Only their own deliveries wait.
 */
@Injectable()
export class UnopenedWebhooks {
  readonly #found = new Map<string, { readonly version: number; readonly until: number }>();

  constructor(private readonly log: ThrottledLog) {}

  has({ id, version }: Pick<Webhook, 'id' | 'version'>): boolean {
    return this.#found.get(id)?.version === version;
  }

  /**
   * Returns the epoch milliseconds at which a delivery to the webhook is due again, or undefined if it may be attempted now.
   */
  notBefore(webhook: Pick<Webhook, 'id' | 'version'>, now: number): number | undefined {
    const until = this.has(webhook) ? (this.#found.get(webhook.id)?.until ?? 0) : 0;
    // The times are spread at random, because many deliveries to the webhook may wait.
    return now < until ? until + Math.round(LOOK_AGAIN_MS * Math.random()) : undefined;
  }

  /**
   * Decrypts the credential and the signing secrets of a webhook.
   * @returns the decrypted webhook; if no key decrypts it, the epoch milliseconds at which to try again; undefined if Redis
   *   is unavailable or the registration has changed
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

/** Members of a delivery that an attempt needs. A job has them too. */
export type DeliveryToAttempt = DeliveryFacts & { body: Buffer };

export const ATTEMPT_SETTINGS = Symbol('settings of attempts');

export interface AttemptSettings {
  readonly policy: RetryPolicy;
  /** Version of the relay, for the `user-agent` header. */
  readonly version: string;
}

/**
 * Maximum number of characters that are kept of each answer except the last one. It is small, because Redis stores all
 * answers.
 */
const SAID = 256;

/** Interval in ms at which the answer to a successful attempt of a webhook is kept. */
const EVERY_MS = 600_000;
/** Maximum of webhooks in memory. Beyond it, all are removed, so the next answer of each webhook is kept. */
const MOST = 50_000;

/** Selects the successful attempts whose answers are kept. There are few of them, so storing them costs almost nothing. */
@Injectable()
export class GoodAnswers {
  readonly #lastAt = new Map<string, number>();

  /** Returns whether to keep the answer to this attempt. If it is kept, no other one is kept for ten minutes. */
  isDue(webhookId: string, now: number): boolean {
    if (now - (this.#lastAt.get(webhookId) ?? -Infinity) < EVERY_MS) return false;
    if (this.#lastAt.size >= MOST) this.#lastAt.clear();
    this.#lastAt.set(webhookId, now);
    return true;
  }
}

/**
 * Makes one attempt of a delivery: builds and sends the request, classifies the answer, decides what happens next, and
 * reports the attempt. Afterwards, the caller must store the next step of the delivery.
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
    // If this worker aborted the attempt, it is not reported. Another worker has the job now and repeats it with the same
    // number.
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

  /** Reports a delivery that became a dead letter because of an internal error. */
  failed(delivery: DeliveryFacts): void {
    this.reports.died(delivery, 'handling_failed');
  }
}

/** Returns the parts of the answer that `AttemptFacts` stores. */
function answerOf(result: AttemptResult, opened: OpenedWebhook, now: number): KeptAnswer | undefined {
  if (result.kind === 'failed' || result.answer === undefined) return undefined;
  const { text, headers } = shownAnswer(result.answer, opened.credential(), opened.secrets(now));
  return {
    ...(text === undefined ? {} : { answer: text }),
    ...(headers === undefined ? {} : { answerHeaders: { ...headers } }),
  };
}

/** Reduces an earlier attempt to the members that jobs store: no headers, timing or `notBefore`, and a shorter answer. */
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

/** A straight delivery, which is a delivery whose first attempt is made directly from the log, without a job. */
export interface Delivery {
  readonly webhook: Webhook;
  readonly record: EnvelopeRecord;
  /** Number of the replay that the delivery belongs to; 0 or undefined if it belongs to none. */
  readonly series?: number;
  /** Set if the delivery waited in the log for a parked webhook, or belongs to a replay. */
  readonly isCaughtUp?: true;
  /**
   * Ends the delivery. Called once, after the endpoint answered 2xx or after the job or dead letter was stored.
   * @param again stores the job or dead letter again; undefined after 2xx
   */
  settle(again?: StoreAgain): void;
}

export const jobOf = ({ webhook, record, series }: Delivery): DeliveryJob => newJob(webhook, record, series);

/**
 * Makes the first attempt of a straight delivery and stores its next step. The methods resolve when the delivery is settled:
 * with undefined after a 2xx, otherwise with a function that stores the job or dead letter again. `make` and `fail` repeat a
 * write to Redis until it succeeds, so they do not reject because of Redis.
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
      // Redis is unavailable or the registration has changed. The job reads the registration again.
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

  /** Turns a delivery into a dead letter after an internal error, so that operators see it and the worker can continue. */
  async fail(delivery: Delivery, error: unknown): Promise<StoreAgain> {
    const reason = 'handling_failed';
    const letter = { ...jobOf(delivery), lastFailure: reasonOf(error), reason, diedAt: Date.now() } as const;
    const again = await this.#confirmed(() => this.queue.addDeadLetter(letter), deliveryId(letter));
    this.attempts.failed(letter);
    return again;
  }

  /** Stores the delivery as a job. @param at epoch milliseconds at which the job is due */
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
