import { Inject, Injectable } from '@nestjs/common';
import { DeadLetterIndex } from '@relay/dead-letters';
import { parseDeliveryId } from '@relay/delivery';
import { ShownAttempt, shownAttempt } from '@relay/events';
import { failureRateOf, RedisAttemptCounts, type AttemptCounts, type HistoryLine } from '@relay/history';
import { WaitingJobs } from '@relay/jobs';
import { Shards } from '@relay/redis';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { WebhookDetails, WebhookId, type RegisteredWebhook } from '@relay/webhooks';
import { z } from 'zod';
import { webhooksPage } from '../webhooks/listings.js';
import { WebhookWaiting } from '../webhooks/webhook-problems.js';

const moment = z.iso.datetime();

export const StatesQuery = z.strictObject({
  ...webhooksPage(100, /^(?:[1-9]\d?|100)$/),
  webhookId: WebhookId.optional().describe('Only this webhook.'),
});

export const WebhookState = WebhookDetails.pick({
  id: true,
  eventType: true,
  endPointUrl: true,
  endPointName: true,
  status: true,
  disabledReason: true,
  waiting: true,
})
  .extend({
    oldestWaitingAt: moment
      .nullable()
      .describe(
        'When the envelope of the oldest delivery in the queue was accepted; `null` without one, or if more than 100 wait.',
      ),
    dead: z.int().describe('Dead deliveries that can be retried.'),
    delivered: z
      .int()
      .describe(
        'Successful attempts of the last 24 hours, unless the operator keeps them for another time. A crash, or scarce memory, can leave some out.',
      ),
    failedAttempts: z
      .int()
      .describe('Failed attempts of the same time, which begins with a whole hour here. A crash can leave some out.'),
    failureRate: z
      .number()
      .nullable()
      .describe('Share of `failedAttempts` in both, 0 to 1; `null` if there was no attempt.'),
    lastDelivered: z
      .object({
        envelopeId: z.guid(),
        at: moment,
        status: z.int().nullable().describe('HTTP status of the endpoint.'),
        durationMs: z.int().nullable(),
      })
      .nullable()
      .describe('The last successful delivery of that time.'),
    lastGood: ShownAttempt.nullable().describe(
      'A successful attempt with what the endpoint answered. Each worker keeps one in ten minutes; it may be older than the others here.',
    ),
    lastFailure: ShownAttempt.nullable().describe('The last failed attempt of that time.'),
  })
  .meta({ id: 'WebhookState', description: 'A webhook and how its deliveries stand.' });
export type WebhookState = z.infer<typeof WebhookState>;

export const WebhookStatesAnswer = z.object({ webhooks: z.array(WebhookState) }).meta({ id: 'WebhookStates' });
export type WebhookStatesAnswer = z.infer<typeof WebhookStatesAnswer>;

/** Most waiting deliveries of a webhook among which the oldest is searched. */
const LOOKED_THROUGH = 100;

/** Reads the state of webhooks and their deliveries. Callers check the owner of the webhooks first. */
@Injectable()
export class WebhookStates {
  readonly #jobs: WaitingJobs;
  readonly #letters: DeadLetterIndex;
  readonly #counts: RedisAttemptCounts;

  constructor(
    private readonly waiting: WebhookWaiting,
    shards: Shards,
    @Inject(INGRESS_CONFIG) { HISTORY_WINDOW }: IngressConfig,
  ) {
    this.#jobs = new WaitingJobs(shards);
    this.#letters = new DeadLetterIndex(shards);
    this.#counts = new RedisAttemptCounts(shards, HISTORY_WINDOW);
  }

  async of(webhooks: readonly RegisteredWebhook[]): Promise<WebhookState[]> {
    const counts = await this.#counts.of(webhooks.map(({ id }) => id));
    return Promise.all(webhooks.map((webhook, index) => this.#of(webhook, counts[index] as AttemptCounts)));
  }

  async #of(
    { id, eventType, endPointUrl, endPointName, disabledReason, status: registered }: RegisteredWebhook,
    { delivered, failed, lastDelivered, lastGood, lastFailure }: AttemptCounts,
  ): Promise<WebhookState> {
    const [{ status, waiting }, dead] = await Promise.all([this.waiting.of(id, registered), this.#letters.count(id)]);
    const oldest = waiting > 0 && waiting <= LOOKED_THROUGH ? acceptedFirst(await this.#jobs.ids(id)) : undefined;
    return {
      id,
      eventType,
      endPointUrl,
      endPointName,
      status,
      disabledReason,
      waiting,
      oldestWaitingAt: oldest === undefined ? null : new Date(oldest).toISOString(),
      dead,
      delivered,
      failedAttempts: failed,
      failureRate: failureRateOf({ delivered, failed }),
      lastDelivered: lastDelivered === undefined ? null : successOf(lastDelivered),
      lastGood: lastGood === undefined ? null : shownAttempt(lastGood),
      lastFailure: lastFailure === undefined ? null : shownAttempt(lastFailure),
    };
  }
}

/** Returns when the oldest delivery's envelope was accepted, epoch milliseconds; undefined if all have ended meanwhile. */
function acceptedFirst(ids: readonly string[]): number | undefined {
  const times = ids.flatMap((id) => parseDeliveryId(id)?.acceptedAt ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}

const successOf = ({ envelopeId, endedAt, attempts }: HistoryLine): WebhookState['lastDelivered'] => ({
  envelopeId,
  at: new Date(endedAt).toISOString(),
  status: attempts.at(-1)?.status ?? null,
  durationMs: attempts.at(-1)?.durationMs ?? null,
});
