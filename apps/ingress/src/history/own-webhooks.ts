import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '@relay/access';
import { DeadLetterIndex } from '@relay/dead-letters';
import { parseDeliveryId } from '@relay/delivery';
import { ShownAttempt, shownAttempt } from '@relay/events';
import {
  failureRateOf,
  HourCounts,
  RedisAttemptCounts,
  type AttemptCounts,
  type HistoryLine,
  type HourPeriod,
} from '@relay/history';
import { PartnerQuota } from '@relay/http';
import { WaitingJobs } from '@relay/jobs';
import { ProblemError } from '@relay/problem';
import { Shards } from '@relay/redis';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { WebhookDetails, WebhookId, WebhookStore, type RegisteredWebhook } from '@relay/webhooks';
import { z } from 'zod';
import { webhooksPage } from '../webhooks/listings.js';
import { isShown, notFound, ownWebhook, WebhookWaiting } from '../webhooks/webhook-problems.js';
import type { RetrySelection } from './history.openapi.js';

/**
 * Limits look-ups in Redis and Kafka. The limit is high enough for a person with 1,000 webhooks who turns a page every
 * second.
 */
export class HistoryQuota extends PartnerQuota {
  constructor() {
    super({ name: 'history', points: 600, windowMs: 60_000 });
  }

  /** @throws ProblemError `too-many-requests` */
  async admit(partnerId: string, points = 1): Promise<void> {
    if (points > 0) await this.charge(partnerId, 'You have sent too many requests for deliveries and replays.', points);
  }
}

/** Maximum number of webhooks in one request. */
const MOST = 1_000;
/** Number of webhooks for one point of the quota. */
export const LOOKED_AT_A_POINT = 100;

/**
 * Returns the points that a request costs in addition to its first point, which is already charged. A request costs at most
 * 200 further points, so that a partner can make several of the largest requests in a minute.
 */
export const morePoints = (count: number, each: number): number => Math.min(200, Math.ceil(count / each) - 1);

/**
 * Finds a partner's own webhooks that the caller may see. Each call charges points to the partner's quota. The more webhooks
 * are looked up, the more points it costs.
 */
@Injectable()
export class OwnWebhooks {
  constructor(
    private readonly webhooks: WebhookStore,
    readonly quota: HistoryQuota,
  ) {}

  async ids(caller: Caller): Promise<Set<string>> {
    const partnerId = caller.clientId;
    await this.quota.admit(partnerId);
    const ids = await this.webhooks.idsOf(partnerId);
    await this.quota.admit(partnerId, morePoints(ids.length, LOOKED_AT_A_POINT));
    return new Set(ids.filter((id) => isShown(caller, id)));
  }

  /**
   * @throws ProblemError `not-found` if the caller may not see one of the webhooks, `invalid-request` if there are more than
   * 1,000
   */
  async select(
    caller: Caller,
    { webhookIds, eventType }: Pick<RetrySelection, 'webhookIds' | 'eventType'>,
  ): Promise<string[]> {
    const partnerId = caller.clientId;
    if (webhookIds?.every((id) => isShown(caller, id)) === false) throw notFound();
    await this.quota.admit(partnerId);
    const ids =
      webhookIds === undefined
        ? (await this.webhooks.idsOf(partnerId, eventType)).filter((id) => isShown(caller, id))
        : await this.#named(partnerId, webhookIds, eventType);
    if (ids.length > MOST)
      throw new ProblemError('invalid-request', `You have more than ${MOST} of these webhooks: name some of them.`);
    await this.quota.admit(partnerId, morePoints(ids.length, LOOKED_AT_A_POINT));
    return ids;
  }

  /** Returns a webhook of the partner. @throws ProblemError `not-found`, even if `given` is no UUID */
  async find(partnerId: string, given: string): ReturnType<typeof ownWebhook> {
    await this.quota.admit(partnerId);
    return ownWebhook(this.webhooks, partnerId, given);
  }

  async #named(partnerId: string, ids: readonly string[], eventType: string | undefined): Promise<string[]> {
    const found = await Promise.all([...new Set(ids)].map((id) => this.webhooks.find(partnerId, id)));
    return found.flatMap((webhook) => {
      if (webhook === undefined) throw notFound();
      return eventType === undefined || webhook.details.eventType === eventType ? [webhook.details.id] : [];
    });
  }
}

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

/** Maximum number of waiting deliveries among which the oldest one is searched. If more wait, it is not searched. */
const LOOKED_THROUGH = 100;

/** Reads the state of webhooks and their deliveries. The caller first checks that the webhooks belong to the partner. */
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

  async hours(webhookIds: readonly string[], period: HourPeriod): Promise<HourCounts> {
    return { hours: await this.#counts.hours(webhookIds, period) };
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

/**
 * Returns when the envelope of the oldest delivery was accepted, in epoch milliseconds; undefined if all deliveries have
 * ended.
 */
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
