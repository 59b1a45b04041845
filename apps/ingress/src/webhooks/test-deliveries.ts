import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { FailureLimiter } from '@relay/access';
import { originOf, OriginTurns, RedisOriginProofs } from '@relay/breaker';
import { RELAY_VERSION } from '@relay/config';
import { buildRequest, classify, HttpSender, shownAnswer, TracedSender, type Sender } from '@relay/delivery';
import { guardedConnector } from '@relay/egress';
import { AnswerHeaders, AttemptTiming, continueTrace } from '@relay/events';
import { SharedQuota, spentHeaders } from '@relay/http';
import { ProblemError } from '@relay/problem';
import { Shards } from '@relay/redis';
import { INGRESS_CONFIG, policyOf, type IngressConfig } from '@relay/settings';
import { reasonOf, ThrottledLog, Tracing } from '@relay/telemetry';
import { WebhookStore, type Versions, type Webhook } from '@relay/webhooks';
import { z } from 'zod';
import { exampleOf } from '../documents/event-catalogue.js';

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

/** The destination, event type and credentials of a test. */
type TestTarget = Pick<Webhook, 'id' | 'partnerId' | 'eventType' | 'url' | 'endpoint' | 'opened'>;

/** Maximum number of concurrent tests of one endpoint (a partner and an origin) in a process. */
const AT_ONCE = 16;

/**
 * Sends a sample to an endpoint at once. The request is the same as for a real first attempt, with the same egress guard,
 * and is marked by `relay-test: true`. Its time limit is the default of `HttpSender`, 15 s, and not `DELIVERY_TIMEOUT`. A
 * test is not in the log, is never retried, and does not count for any breaker.
 */
@Injectable()
export class TestDeliveries implements OnApplicationShutdown {
  readonly #sender: Sender;
  readonly #limitOfWebhook: FailureLimiter;
  /** Limits the tests of drafts. A draft needs no registration, so the budget of changes does not limit its tests. */
  readonly #limitOfDrafts: FailureLimiter;
  readonly #quota: SharedQuota;
  readonly #unproven: UnprovenTests;
  /** The number of running tests by endpoint. */
  readonly #running = new Map<string, number>();

  constructor(
    { global }: Shards,
    @Inject(INGRESS_CONFIG) config: IngressConfig,
    @Inject(Tracing) tracing: Tracing | undefined,
  ) {
    const connector = guardedConnector(policyOf(config), { proxyUrl: config.EGRESS_PROXY_URL });
    const sender = new HttpSender(connector, { keepsAnswers: config.KEEP_ENDPOINT_ANSWERS });
    this.#sender = tracing === undefined ? sender : new TracedSender(sender, tracing);
    this.#limitOfWebhook = new FailureLimiter(global, { name: 'webhook-test', points: 6, windowMs: 60_000 });
    this.#limitOfDrafts = new FailureLimiter(global, { name: 'draft-test', points: 6, windowMs: 60_000 });
    this.#quota = new SharedQuota(global, { name: 'tests-of-partner', points: 60, windowMs: 60_000 });
    this.#unproven = new UnprovenTests(new RedisOriginProofs(global));
  }

  /** Tests a webhook. @throws ProblemError `too-many-requests` */
  send(webhook: Webhook): Promise<TestResult> {
    return this.#run(webhook, this.#limitOfWebhook, webhook.id, 'This webhook has');
  }

  /** Tests an endpoint that has no webhook yet. @throws ProblemError `too-many-requests` */
  sendDraft(draft: TestTarget): Promise<TestResult> {
    return this.#run(draft, this.#limitOfDrafts, draft.partnerId, 'Endpoints without a webhook have');
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#sender.close();
  }

  async #run(target: TestTarget, limiter: FailureLimiter, key: string, whose: string): Promise<TestResult> {
    const { endpoint } = target;
    const running = this.#running.get(endpoint) ?? 0;
    // The limits for each webhook are not enough, because an endpoint can have many webhooks.
    if (running >= AT_ONCE)
      throw new ProblemError('too-many-requests', 'Too many tests of this endpoint are running.', {
        headers: { 'retry-after': '1' },
      });
    this.#running.set(endpoint, running + 1);
    try {
      const waitS = await limiter.fail(key);
      if (waitS !== undefined) throw tooOften(whose, spentHeaders(limiter.limit, waitS));
      const { isSpent, resetS } = await this.#quota.consume(target.partnerId);
      if (isSpent) throw tooOften('Your webhooks have', spentHeaders(this.#quota.quota, resetS));
      return await this.#unproven.run(
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
    const { eventType } = target;
    const sample = { ...exampleOf(eventType), id: envelopeId };
    const now = Date.now();
    const request = buildRequest({
      webhook: target,
      opened,
      body: Buffer.from(JSON.stringify(sample)),
      envelopeId,
      eventType,
      attempt: 1,
      now,
      version: RELAY_VERSION,
      traceparent: continueTrace(undefined),
      isTest: true,
    });
    const result = await this.#sender.send(request);
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

/**
 * Maximum time that a test waits for its turn, in ms. Every other partner with a test of the origin gets at most one turn
 * before it.
 */
const WAIT_MS = 10_000;
/** How often a waiting test checks, in ms, whether the origin has answered 2xx or the turn of the test has come. */
const LOOK_MS = 250;

/**
 * Protects an origin from a flood of tests until it has answered 2xx once. Until then, partners take turns, with one test
 * per second.
 */
class UnprovenTests {
  readonly #turns = new OriginTurns();

  constructor(private readonly proofs: Pick<RedisOriginProofs, 'prove' | 'proven'>) {}

  /**
   * @param isDelivered returns whether the test was answered 2xx
   * @throws ProblemError `too-many-requests`
   */
  async run<T>(endpoint: string, send: () => Promise<T>, isDelivered: (result: T) => boolean): Promise<T> {
    const origin = originOf(endpoint);
    await this.#mayGo(endpoint, origin);
    const result = await send();
    // If Redis fails here, the next 2xx is recorded instead.
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

  /** Whether the origin has ever answered 2xx; false if Redis does not answer. */
  async #isProven(origin: string): Promise<boolean> {
    try {
      return (await this.proofs.proven([origin])).has(origin);
    } catch {
      return false;
    }
  }
}

/**
 * Verifies endpoints if `VERIFY_ENDPOINTS` is set. A webhook that is registered, or gets another URL or credential, is then
 * disabled as `unverified` until its endpoint answers a signed test delivery with 2xx. The relay sends a test at once, and
 * the partner can request further tests. Meanwhile, the deliveries wait in the log.
 */
@Injectable()
export class EndpointVerification {
  constructor(
    private readonly webhooks: WebhookStore,
    private readonly tests: TestDeliveries,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
    private readonly log: ThrottledLog,
  ) {}

  /** Tests a webhook that was registered or changed. The test runs in the background. */
  begin(partnerId: string, id: string): void {
    if (this.config.VERIFY_ENDPOINTS)
      void this.passes(partnerId, id).catch((error: unknown) =>
        this.log.warn('webhook.untested', 'A webhook could not be tested; its partner can ask for another test', {
          webhookId: id,
          reason: reasonOf(error),
        }),
      );
  }

  /**
   * Tests an unverified webhook, and enables the tested version if the test passes. If the webhook has changed meanwhile, it
   * is tested again. Returns the last test; undefined if there is nothing to verify.
   * @throws ProblemError `too-many-requests`
   */
  async passes(partnerId: string, id: string): Promise<TestResult | undefined> {
    let result: TestResult | undefined;
    while (this.config.VERIFY_ENDPOINTS) {
      const found = await this.webhooks.find(partnerId, id);
      if (found?.details.disabledReason !== 'unverified') return result;
      const webhook = await this.webhooks.deliverable(partnerId, id);
      if (webhook === undefined) return result;
      result = await this.tests.send(webhook);
      if (!result.delivered) return result;
      const { kind } = await this.webhooks.enable(partnerId, id, [webhook.version]);
      if (kind !== 'stale') return result;
    }
    return result;
  }

  /**
   * Tests a webhook. If the webhook is unverified and passes the test, it is enabled. Returns undefined if the webhook is
   * unknown.
   * @throws ProblemError `too-many-requests`
   */
  async test(partnerId: string, id: string): Promise<TestResult | undefined> {
    const verified = await this.passes(partnerId, id);
    if (verified !== undefined) return verified;
    const webhook = await this.webhooks.deliverable(partnerId, id);
    return webhook && this.tests.send(webhook);
  }

  /**
   * Enables a webhook. If the webhook is unverified and fails its test, it stays disabled, and the failed test is returned.
   * @throws ProblemError `too-many-requests`
   */
  async enable(
    partnerId: string,
    id: string,
    ifVersions?: Versions,
  ): Promise<'enabled' | 'not-found' | 'stale' | 'operator' | TestResult> {
    for (let named = ifVersions; ; named = undefined) {
      const found = await this.webhooks.find(partnerId, id);
      if (found === undefined) return 'not-found';
      if (named?.includes(found.version) === false) return 'stale';
      const { status, disabledReason } = found.details;
      if (status === 'active') return 'enabled';
      if (disabledReason === 'operator') return 'operator';
      if (this.config.VERIFY_ENDPOINTS && disabledReason === 'unverified') {
        const test = await this.passes(partnerId, id);
        if (test?.delivered === false) return test;
        continue;
      }
      // Only the version that was read is enabled. After a concurrent change, the URL is not verified and the state is
      // unknown.
      const { kind } = await this.webhooks.enable(partnerId, id, [found.version]);
      if (kind === 'stale' && named !== undefined) return kind;
    }
  }
}
