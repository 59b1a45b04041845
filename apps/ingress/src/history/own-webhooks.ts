import { Injectable } from '@nestjs/common';
import type { Caller } from '@relay/access';
import { PartnerQuota } from '@relay/http';
import { ProblemError } from '@relay/problem';
import { WebhookStore } from '@relay/webhooks';
import type { RetrySelection } from './history.openapi.js';
import { isShown, notFound } from '../webhooks/webhook-problems.js';

/** Limits look-ups in Redis and Kafka. A person with 1,000 webhooks who turns a page every second stays within the limit. */
export class HistoryQuota extends PartnerQuota {
  constructor() {
    super({ name: 'history', points: 600, windowMs: 60_000 });
  }

  /** @throws ProblemError `too-many-requests` */
  async admit(partnerId: string, points = 1): Promise<void> {
    if (points > 0) await this.charge(partnerId, 'You have sent too many requests for deliveries and replays.', points);
  }
}

/** Most webhooks of one request. */
const MOST = 1_000;
/** Webhooks per point of the quota. */
export const LOOKED_AT_A_POINT = 100;

/** Returns the points beyond the first, which is already charged; at most 200, so that some largest requests fit in a minute. */
export const morePoints = (count: number, each: number): number => Math.min(200, Math.ceil(count / each) - 1);

/** A partner's own webhooks that the caller may see. Their number is charged to the partner's quota. */
@Injectable()
export class OwnWebhooks {
  constructor(
    private readonly webhooks: WebhookStore,
    private readonly quota: HistoryQuota,
  ) {}

  async ids(caller: Caller): Promise<Set<string>> {
    const partnerId = caller.clientId;
    await this.quota.admit(partnerId);
    const ids = await this.webhooks.idsOf(partnerId);
    await this.quota.admit(partnerId, morePoints(ids.length, LOOKED_AT_A_POINT));
    return new Set(ids.filter((id) => isShown(caller, id)));
  }

  /** @throws ProblemError `not-found` for an id of no webhook of the partner, `invalid-request` beyond 1,000 webhooks */
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

  async #named(partnerId: string, ids: readonly string[], eventType: string | undefined): Promise<string[]> {
    const found = await Promise.all([...new Set(ids)].map((id) => this.webhooks.find(partnerId, id)));
    return found.flatMap((webhook) => {
      if (webhook === undefined) throw notFound();
      return eventType === undefined || webhook.details.eventType === eventType ? [webhook.details.id] : [];
    });
  }
}
