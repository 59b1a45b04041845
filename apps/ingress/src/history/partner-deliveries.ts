import type { WebhookStore } from '@relay/webhooks';
import { answerOf, DELIVERY_STATUSES, type DeliveryAnswer, type DeliveryFacts } from './delivery-facts.js';
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
    private readonly lists: Pick<DeliveryLists, 'page'>,
  ) {}

  /** Newest first. */
  async ofWebhooks(
    partnerId: string,
    webhookIds: readonly string[],
    { status, since, until, limit, cursor, httpStatus, error }: Omit<DeliveriesQuery, 'webhookId' | 'eventType'>,
  ): Promise<DeliveryPage> {
    const statuses = status === undefined ? DELIVERY_STATUSES : [status];
    const filter = { statuses, since: timeOf(since), until: timeOf(until), httpStatus, error };
    const after = cursor === undefined ? undefined : placeOf(cursor);
    const { entries, next } = await this.lists.page(webhookIds, filter, after, limit);
    const facts = entries.map((entry) => entry.facts);
    return { deliveries: await this.#told(partnerId, facts), ...(next === undefined ? {} : { next }) };
  }

  /** Without those to webhooks that were deleted a moment ago. */
  async #told(partnerId: string, facts: readonly DeliveryFacts[]): Promise<DeliveryAnswer[]> {
    const ids = [...new Set(facts.map(({ webhookId }) => webhookId))];
    const found = await Promise.all(ids.map((id) => this.webhooks.find(partnerId, id)));
    const webhooks = new Map(found.flatMap((each) => (each === undefined ? [] : [[each.details.id, each.details]])));
    return facts.flatMap((each) => {
      const webhook = webhooks.get(each.webhookId);
      return webhook === undefined ? [] : [answerOf(each, webhook)];
    });
  }
}

export const timeOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Date.parse(text);
