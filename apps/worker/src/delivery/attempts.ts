import { Inject, Injectable } from '@nestjs/common';
import {
  buildRequest,
  classify,
  reachOf,
  Sender,
  shownAnswer,
  type AttemptResult,
  type DeliveryRequest,
  type Outcome,
  type Reach,
} from '@relay/delivery';
import type { AttemptFacts } from '@relay/events';
import { disposition, type Disposition, type RetryPolicy } from '@relay/retry';
import type { OpenedWebhook, Webhook } from '@relay/webhooks';
import { AttemptReports } from './attempt-reports.js';
import { GoodAnswers } from './good-answers.js';
import type { DeliveryFacts, KeptAnswer } from './delivery-facts.js';

/** The members of a delivery that an attempt needs; a job has them. */
export type DeliveryToAttempt = DeliveryFacts & { body: Buffer };

export interface Attempted {
  disposition: Disposition;
  durationMs: number;
  /** Failure in words, with the beginning of the endpoint's answer; undefined after a delivery. */
  failure: string | undefined;
  /** All attempts of the delivery, this one included. */
  tries: readonly AttemptFacts[];
  /** Whether the endpoint failed. A 410 ends the delivery and is no failure of the endpoint. */
  failed: boolean;
  reach: Reach;
  /** Epoch milliseconds before which the endpoint asked for no attempt. */
  notBefore: number | undefined;
}

export const ATTEMPT_SETTINGS = Symbol('settings of attempts');

export interface AttemptSettings {
  readonly policy: RetryPolicy;
  /** The relay's own version, for `user-agent`. */
  readonly version: string;
}

/** Characters kept of each answer before the last one of a delivery: all of them are in Redis. */
const SAID = 256;

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
    const result = await this.sender.send(this.#requestOf(webhook, opened, delivery, startedAt), signal);
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

  #requestOf(webhook: Webhook, opened: OpenedWebhook, delivery: DeliveryToAttempt, now: number): DeliveryRequest {
    const { body, envelopeId, eventType, traceparent } = delivery;
    return buildRequest({
      url: webhook.url,
      body,
      envelopeId,
      eventType,
      webhookId: webhook.id,
      partnerId: webhook.partnerId,
      attempt: delivery.attempts + 1,
      now,
      secrets: opened.secrets(now),
      credential: opened.credential(),
      traceparent,
      version: this.settings.version,
    });
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
