import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { FailureLimiter } from '@relay/access';
import { originOf, OriginTurns, type RedisOriginProofs } from '@relay/breaker';
import { RELAY_VERSION } from '@relay/config';
import { buildRequest, classify, shownAnswer, type Sender } from '@relay/delivery';
import { AnswerHeaders, AttemptTiming, continueTrace, type EnvelopeType } from '@relay/events';
import { spentHeaders, type SharedQuota } from '@relay/http';
import { ProblemError } from '@relay/problem';
import type { Webhook } from '@relay/webhooks';
import { z } from 'zod';
import { exampleOf } from '../documents/event-catalogue.js';

/** Longest wait of a test for its turn, in ms. Each other partner with a test of the origin comes at most once before it. */
const WAIT_MS = 10_000;
/** Interval in ms at which a waiting test checks whether the origin has answered 2xx, or its turn has come. */
const LOOK_MS = 250;

/** Protects an origin from a flood of tests until it has answered 2xx once: partners take turns, one a second. */
export class UnprovenTests {
  readonly #turns = new OriginTurns();

  constructor(private readonly proofs: Pick<RedisOriginProofs, 'prove' | 'proven'>) {}

  /** @param isDelivered whether the test was answered 2xx @throws ProblemError `too-many-requests` */
  async run<T>(endpoint: string, send: () => Promise<T>, isDelivered: (result: T) => boolean): Promise<T> {
    const origin = originOf(endpoint);
    await this.#mayGo(endpoint, origin);
    const result = await send();
    // After a failure of the store the next 2xx records it.
    if (isDelivered(result)) await this.proofs.prove(origin).catch(() => undefined);
    return result;
  }

  async #mayGo(endpoint: string, origin: string): Promise<void> {
    const until = performance.now() + WAIT_MS;
    let turnAt: number | undefined;
    this.#turns.forget(performance.now());
    while (!(await this.#isProven(origin))) {
      const now = performance.now();
      turnAt ??= this.#turns.take({ endpoint, id: '' }, now);
      if (turnAt !== undefined && turnAt <= now) return;
      if (Math.max(now, turnAt ?? now) > until)
        throw new ProblemError(
          'too-many-requests',
          'Other tests are sent to this endpoint first: it has never answered 2xx, and gets one a second.',
          { headers: { 'retry-after': '5' } },
        );
      await delay(LOOK_MS);
    }
  }

  /** Whether the origin has ever answered 2xx; false while the store is away. */
  async #isProven(origin: string): Promise<boolean> {
    try {
      return (await this.proofs.proven([origin])).has(origin);
    } catch {
      return false;
    }
  }
}

/** Limits of a partner's tests over all processes: of each webhook, of endpoints without a webhook, and of all together. */
interface TestLimits {
  readonly webhook: FailureLimiter;
  readonly drafts: FailureLimiter;
  readonly partner: Pick<SharedQuota, 'consume' | 'quota'>;
}

export const TestResult = z
  .object({
    envelopeId: z.guid().describe('What came as `webhook-id`; nothing else in the relay knows it.'),
    delivered: z.boolean().describe('Whether the endpoint answered 2xx.'),
    status: z.int().optional().describe('What it answered.'),
    error: z.string().optional().describe('Kind of failure, if it did not answer.'),
    detail: z.string().optional().describe('What went wrong, in words.'),
    answer: z
      .string()
      .optional()
      .describe(
        'The text that it answered: at most 1,024 characters, without the credential and the signing secrets of the webhook.',
      ),
    answerHeaders: AnswerHeaders.optional(),
    durationMs: z.int(),
    timing: AttemptTiming.optional(),
  })
  .meta({ id: 'TestResult', description: 'The one attempt of a test delivery.' });
export type TestResult = z.infer<typeof TestResult>;

export const DraftTestResult = TestResult.extend({
  secret: z
    .string()
    .describe('What signed this test and signs nothing else. A webhook gets another secret when it is registered.'),
}).meta({ id: 'DraftTestResult', description: 'The one attempt of a test delivery to an endpoint without a webhook.' });
export type DraftTestResult = z.infer<typeof DraftTestResult>;

/** Destination, event type and credentials of a test. */
type TestTarget = Pick<Webhook, 'id' | 'partnerId' | 'eventType' | 'url' | 'endpoint' | 'opened'>;

/** Concurrent tests of one endpoint (partner and origin) in a process. */
const AT_ONCE = 16;

/**
 * Sends a sample to an endpoint at once: the request of a real first attempt, with the same egress guard and time limits, marked
 * by `relay-test: true`. A test is not in the log, is never retried, and counts for no breaker.
 */
export class TestDeliveries {
  /** Number of running tests by endpoint. */
  readonly #running = new Map<string, number>();

  constructor(
    private readonly sender: Sender,
    private readonly limits: TestLimits,
    private readonly unproven: UnprovenTests,
  ) {}

  /** Tests a webhook. @throws ProblemError `too-many-requests` */
  send(webhook: Webhook): Promise<TestResult> {
    return this.#run(webhook, this.limits.webhook, webhook.id, 'This webhook has');
  }

  /** Tests an endpoint that has no webhook yet. @throws ProblemError `too-many-requests` */
  sendDraft(draft: TestTarget): Promise<TestResult> {
    return this.#run(draft, this.limits.drafts, draft.partnerId, 'Endpoints without a webhook have');
  }

  async #run(target: TestTarget, limiter: FailureLimiter, key: string, whose: string): Promise<TestResult> {
    const { endpoint } = target;
    const running = this.#running.get(endpoint) ?? 0;
    // The limits by webhook are not enough, because an endpoint can have many webhooks.
    if (running >= AT_ONCE)
      throw new ProblemError('too-many-requests', 'Too many tests of this endpoint are running.', {
        headers: { 'retry-after': '1' },
      });
    this.#running.set(endpoint, running + 1);
    try {
      const waitS = await limiter.fail(key);
      if (waitS !== undefined) throw tooOften(whose, spentHeaders(limiter.limit, waitS));
      const { isSpent, resetS } = await this.limits.partner.consume(target.partnerId);
      if (isSpent) throw tooOften('Your webhooks have', spentHeaders(this.limits.partner.quota, resetS));
      return await this.unproven.run(
        endpoint,
        () => this.#send(target),
        ({ delivered }) => delivered,
      );
    } finally {
      const left = (this.#running.get(endpoint) ?? 1) - 1;
      if (left > 0) this.#running.set(endpoint, left);
      else this.#running.delete(endpoint);
    }
  }

  async #send(target: TestTarget): Promise<TestResult> {
    const opened = await target.opened();
    const envelopeId = randomUUID();
    const sample = { ...exampleOf(target.eventType as EnvelopeType), id: envelopeId };
    const now = Date.now();
    const request = buildRequest({
      url: target.url,
      body: Buffer.from(JSON.stringify(sample)),
      envelopeId,
      eventType: target.eventType,
      webhookId: target.id,
      partnerId: target.partnerId,
      attempt: 1,
      now,
      secrets: opened.secrets(now),
      credential: opened.credential(),
      version: RELAY_VERSION,
      traceparent: continueTrace(undefined),
      isTest: true,
    });
    const result = await this.sender.send(request);
    const outcome = classify(result, Date.now());
    const answer =
      result.kind === 'answered' && result.answer !== undefined
        ? shownAnswer(result.answer, opened.credential(), opened.secrets(now))
        : undefined;
    return {
      envelopeId,
      delivered: outcome.kind === 'delivered',
      ...(outcome.status === undefined ? {} : { status: outcome.status }),
      ...(outcome.kind === 'failed' ? { error: outcome.error, detail: outcome.detail } : {}),
      ...(answer?.text === undefined ? {} : { answer: answer.text }),
      ...(answer?.headers === undefined ? {} : { answerHeaders: answer.headers }),
      durationMs: Math.round(result.durationMs),
      ...(result.timing === undefined ? {} : { timing: result.timing }),
    };
  }
}

const tooOften = (whose: string, headers: Readonly<Record<string, string>>): ProblemError =>
  new ProblemError('too-many-requests', `${whose} been tested too often for now.`, { headers });
