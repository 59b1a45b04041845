import { randomUUID } from 'node:crypto';
import { RELAY_VERSION } from '@relay/config';
import { buildRequest, classify, shownAnswer, type Sender } from '@relay/delivery';
import { AnswerHeaders, AttemptTiming, continueTrace, type EnvelopeType } from '@relay/events';
import { ProblemError } from '@relay/problem';
import type { Webhook } from '@relay/webhooks';
import { z } from 'zod';
import { exampleOf } from '../documents/example-envelope.js';
import type { TestLimits } from './test-limits.js';
import type { UnprovenTests } from './unproven-tests.js';

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

/** Where a test goes, and with what. */
export type TestTarget = Pick<Webhook, 'id' | 'partnerId' | 'eventType' | 'url' | 'endpoint' | 'opened'>;

/** Concurrent tests of one endpoint (partner and origin) in a process. */
const AT_ONCE = 16;

/**
 * Sends a sample to an endpoint at once: the request of a real first attempt, with the same egress guard and time limits, marked with
 * `relay-test: true`. It is not in the log, is never retried and counts for no breaker.
 */
export class TestDeliveries {
  /** Number of running tests by endpoint. */
  readonly #running = new Map<string, number>();

  constructor(
    private readonly sender: Sender,
    private readonly limits: TestLimits,
    private readonly unproven: UnprovenTests,
    private readonly now: () => number,
  ) {}

  /** Tests a webhook. @throws ProblemError `too-many-requests` */
  send(webhook: Webhook): Promise<TestResult> {
    return this.#run(webhook, () => this.limits.countWebhook(webhook));
  }

  /** Tests an endpoint that has no webhook yet. @throws ProblemError `too-many-requests` */
  sendDraft(draft: TestTarget): Promise<TestResult> {
    return this.#run(draft, () => this.limits.countDraft(draft.partnerId));
  }

  async #run(target: TestTarget, count: () => Promise<void>): Promise<TestResult> {
    const { endpoint } = target;
    const running = this.#running.get(endpoint) ?? 0;
    // An endpoint can have many webhooks.
    if (running >= AT_ONCE)
      throw new ProblemError('too-many-requests', 'Too many tests of this endpoint are running.', {
        headers: { 'retry-after': '1' },
      });
    this.#running.set(endpoint, running + 1);
    try {
      await count();
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
    const now = this.now();
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
    });
    const result = await this.sender.send({ ...request, headers: { ...request.headers, 'relay-test': 'true' } });
    const outcome = classify(result, this.now());
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
