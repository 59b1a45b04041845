import { randomUUID } from 'node:crypto';
import type { FailureLimiter } from '@relay/access';
import { originOf } from '@relay/breaker';
import { RELAY_VERSION } from '@relay/config';
import { buildRequest, classify, shownAnswer, type Sender } from '@relay/delivery';
import { AnswerHeaders, AttemptTiming, continueTrace, type EnvelopeType } from '@relay/events';
import { spentHeaders, type SharedQuota } from '@relay/http';
import { ProblemError } from '@relay/problem';
import type { Webhook } from '@relay/webhooks';
import { z } from 'zod';
import { exampleOf } from '../documents/example-envelope.js';
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
    /** Counts every test of a webhook, over all processes. */
    private readonly tests: FailureLimiter,
    /** Counts every test of a partner, over all processes. */
    private readonly ofPartner: Pick<SharedQuota, 'consume' | 'quota'>,
    private readonly unproven: UnprovenTests,
    private readonly now: () => number,
  ) {}

  /** @throws ProblemError `too-many-requests` */
  async send(webhook: Webhook): Promise<TestResult> {
    const running = this.#running.get(webhook.endpoint) ?? 0;
    // An endpoint can have many webhooks.
    if (running >= AT_ONCE)
      throw new ProblemError('too-many-requests', 'Too many tests of this endpoint are running.', {
        headers: { 'retry-after': '1' },
      });
    this.#running.set(webhook.endpoint, running + 1);
    try {
      await this.#count(webhook);
      return await this.unproven.run(
        originOf(webhook.endpoint),
        () => this.#send(webhook),
        ({ delivered }) => delivered,
      );
    } finally {
      const left = (this.#running.get(webhook.endpoint) ?? 1) - 1;
      if (left > 0) this.#running.set(webhook.endpoint, left);
      else this.#running.delete(webhook.endpoint);
    }
  }

  async #count(webhook: Webhook): Promise<void> {
    const waitS = await this.tests.fail(webhook.id);
    if (waitS !== undefined)
      throw new ProblemError('too-many-requests', 'This webhook has been tested too often for now.', {
        headers: spentHeaders(this.tests.limit, waitS),
      });
    const { isSpent, resetS } = await this.ofPartner.consume(webhook.partnerId);
    if (isSpent)
      throw new ProblemError('too-many-requests', 'Your webhooks have been tested too often for now.', {
        headers: spentHeaders(this.ofPartner.quota, resetS),
      });
  }

  async #send(webhook: Webhook): Promise<TestResult> {
    const opened = await webhook.opened();
    const envelopeId = randomUUID();
    const sample = { ...exampleOf(webhook.eventType as EnvelopeType), id: envelopeId };
    const now = this.now();
    const request = buildRequest({
      url: webhook.url,
      body: Buffer.from(JSON.stringify(sample)),
      envelopeId,
      eventType: webhook.eventType,
      webhookId: webhook.id,
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
