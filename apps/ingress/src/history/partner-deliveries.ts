import type { RedisDeliveryHistory } from '@relay/history';
import type { PendingDeliveries } from '@relay/retry';
import type { WebhookStore } from '@relay/webhooks';
import {
  deliveredFacts,
  DELIVERY_STATUSES,
  unsettledFacts,
  type DeliveryAnswer,
  type LookedAt,
} from './delivery-facts.js';
import type { DeliveryLists } from './delivery-lists.js';
import { placeOf, type Place } from './delivery-place.js';
import type { DeliveriesQuery } from './history-query.js';

/** `next` is set when more deliveries follow. */
export interface DeliveryPage {
  readonly deliveries: readonly DeliveryAnswer[];
  readonly next?: Place;
}

/** What a partner reads of its deliveries. Callers check the owner of the webhooks first. */
export class PartnerDeliveries {
  constructor(
    private readonly webhooks: Pick<WebhookStore, 'find'>,
    private readonly history: Pick<RedisDeliveryHistory, 'ofEnvelope'>,
    private readonly jobs: Pick<PendingDeliveries, 'ofEnvelope'>,
    private readonly lists: Pick<DeliveryLists, 'page'>,
  ) {}

  /** Newest first. */
  async ofWebhooks(
    webhooks: readonly LookedAt[],
    { status, since, until, limit, cursor, httpStatus, error }: Omit<DeliveriesQuery, 'webhookId' | 'eventType'>,
  ): Promise<DeliveryPage> {
    const statuses = status === undefined ? DELIVERY_STATUSES : [status];
    const filter = { statuses, since: timeOf(since), until: timeOf(until), httpStatus, error };
    const after = cursor === undefined ? undefined : placeOf(cursor);
    const { entries, next } = await this.lists.page(webhooks, filter, after, limit);
    return { deliveries: entries.map(({ answer }) => answer), ...(next === undefined ? {} : { next }) };
  }

  /** Newest first. The queues are read first: a delivery that settles meanwhile is then in the history. */
  async ofEnvelope(
    partnerId: string,
    envelopeId: string,
    webhookIds: ReadonlySet<string>,
  ): Promise<readonly DeliveryAnswer[]> {
    const unsettled = await this.jobs.ofEnvelope(envelopeId, webhookIds);
    const delivered = await this.history.ofEnvelope(envelopeId, [...webhookIds]);
    const ids = [...unsettled.map(({ job }) => job.webhookId), ...delivered.map(({ webhookId }) => webhookId)];
    const webhooks = await this.#webhooks(partnerId, new Set(ids));
    const of = (id: string): LookedAt[] => [webhooks.get(id) ?? []].flat();
    const now = Date.now();
    return [
      ...unsettled.flatMap((each) => of(each.job.webhookId).map((webhook) => unsettledFacts(each, webhook, now))),
      ...delivered.flatMap((line) => of(line.webhookId).map((webhook) => deliveredFacts(line, webhook))),
    ].toSorted((a, b) => b.at.localeCompare(a.at));
  }

  /** Without those that were deleted a moment ago. */
  async #webhooks(partnerId: string, ids: ReadonlySet<string>): Promise<Map<string, LookedAt>> {
    const found = await Promise.all([...ids].map((id) => this.webhooks.find(partnerId, id)));
    return new Map(found.flatMap((webhook) => (webhook === undefined ? [] : [[webhook.details.id, webhook.details]])));
  }
}

export const timeOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Date.parse(text);
