import { Inject, Injectable } from '@nestjs/common';
import type { AttemptFacts } from '@relay/events';
import { merged, RedisDeliveryHistory, type SortedList } from '@relay/history';
import { PendingDeliveries, type PendingDelivery } from '@relay/retry';
import { WebhookStore } from '@relay/webhooks';
import {
  answerOf,
  comparePlaces,
  deadBehind,
  deliveredBehind,
  deliveredFacts,
  DELIVERY_STATUSES,
  placeOf,
  unsettledFacts,
  type DeliveryAnswer,
  type DeliveryFacts,
  type Period,
  type Place,
} from './delivery-facts.js';
import type { DeliveriesQuery } from './history.openapi.js';

interface DeliveryFilter extends Period {
  readonly statuses: readonly DeliveryFacts['status'][];
  /** Such as `503` or `5xx`; of the last attempt, as `error`. */
  readonly httpStatus?: string | undefined;
  readonly error?: string | undefined;
}

export interface Entry {
  readonly place: Place;
  readonly facts: DeliveryFacts;
}

/** @property next set when more may follow: behind the last entry, or behind those that were looked at in vain */
interface EntryPage {
  readonly entries: readonly Entry[];
  readonly next?: Place;
}

/** Deliveries looked at for a page, at most, whatever the filter leaves out. */
export const LOOKED_AT = 1_000;
/** How often the entries of a page are read, spread over all lists: most of them are in few of these. */
const SPARE = 3;

/** Deliveries, newest first: from the queues until they settle, then from the history. Callers check the owner first. */
@Injectable()
export class DeliveryLists {
  constructor(
    private readonly history: RedisDeliveryHistory,
    private readonly jobs: PendingDeliveries,
  ) {}

  async page(
    webhookIds: readonly string[],
    filter: DeliveryFilter,
    after: Place | undefined,
    limit: number,
  ): Promise<EntryPage> {
    const wants = (status: DeliveryFacts['status']): boolean => filter.statuses.includes(status);
    // The waiting ones are read first: a delivery that settles meanwhile is then a dead letter or in the history.
    const waiting = wants('waiting') ? await this.#waiting(webhookIds, filter, after, limit + 1) : [];
    const lists: SortedList<Entry>[] = [async (last) => (last === undefined ? waiting : [])];
    for (const id of webhookIds) {
      if (wants('dead')) lists.push((last, count) => this.#dead(id, filter, last?.place ?? after, count));
      if (wants('delivered') && mayBeDelivered(filter))
        lists.push((last, count) => this.#delivered(id, filter, last?.place ?? after, count));
    }
    const entries: Entry[] = [];
    let [lookedAt, last] = [0, after];
    const count = Math.max(2, Math.min(limit + 1, Math.ceil((SPARE * (limit + 1)) / lists.length)));
    for await (const entry of merged(lists, (a, b) => comparePlaces(a.place, b.place), count)) {
      const isWanted = isSelected(entry.facts, filter);
      if ((isWanted && entries.length === limit) || lookedAt === LOOKED_AT)
        return { entries, ...(last === undefined ? {} : { next: last }) };
      if (isWanted) entries.push(entry);
      lookedAt += 1;
      last = entry.place;
    }
    return { entries };
  }

  async #waiting(
    webhookIds: readonly string[],
    filter: DeliveryFilter,
    after: Place | undefined,
    count: number,
  ): Promise<Entry[]> {
    let newest: Entry[] = [];
    // One after the other, without those that are not shown: the jobs hold envelopes.
    for (const id of webhookIds) {
      const found = (await this.jobs.waiting(id)).map(unsettled);
      newest = [...newest, ...found]
        .filter(
          ({ place, facts }) =>
            place.at >= (filter.since ?? 0) &&
            place.at < (filter.until ?? Infinity) &&
            (after === undefined || comparePlaces(after, place) < 0) &&
            isSelected(facts, filter),
        )
        .toSorted((a, b) => comparePlaces(a.place, b.place))
        .slice(0, count);
    }
    return newest;
  }

  async #dead(webhookId: string, period: Period, after: Place | undefined, count: number): Promise<Entry[]> {
    const found = await this.jobs.dead(webhookId, deadBehind(period, after), count);
    return found.map(unsettled);
  }

  async #delivered(webhookId: string, period: Period, after: Place | undefined, count: number): Promise<Entry[]> {
    const found = await this.history.ofWebhook(webhookId, deliveredBehind(period, after, webhookId), count);
    return found.map((line): Entry => ({
      place: { at: line.endedAt, place: line.place, webhookId },
      facts: deliveredFacts(line),
    }));
  }
}

function unsettled(pending: PendingDelivery): Entry {
  const facts = unsettledFacts(pending, Date.now());
  return { place: { at: Date.parse(facts.at), id: pending.id }, facts };
}

/** The last attempt of a delivered delivery was answered 2xx. */
const mayBeDelivered = ({ httpStatus, error }: DeliveryFilter): boolean =>
  error === undefined && (httpStatus === undefined || httpStatus.startsWith('2'));

function isSelected({ attempts }: DeliveryFacts, { httpStatus, error }: DeliveryFilter): boolean {
  const last = attempts.at(-1);
  return (httpStatus === undefined || isAnswered(last, httpStatus)) && (error === undefined || last?.error === error);
}

const isAnswered = (last: Pick<AttemptFacts, 'status'> | undefined, wanted: string): boolean =>
  last?.status !== undefined &&
  (wanted.endsWith('xx') ? wanted[0] === String(last.status)[0] : wanted === String(last.status));

/** What a partner reads of its deliveries. Callers check the owner of the webhooks first. */
@Injectable()
export class PartnerDeliveries {
  constructor(
    @Inject(WebhookStore) private readonly webhooks: Pick<WebhookStore, 'find'>,
    private readonly lists: DeliveryLists,
  ) {}

  /** Newest first; `next` is set when more deliveries follow. */
  async ofWebhooks(
    partnerId: string,
    webhookIds: readonly string[],
    { status, since, until, limit, cursor, httpStatus, error }: Omit<DeliveriesQuery, 'webhookId' | 'eventType'>,
  ): Promise<{ deliveries: DeliveryAnswer[]; next: Place | undefined }> {
    const statuses = status === undefined ? DELIVERY_STATUSES : [status];
    const filter = { statuses, since: timeOf(since), until: timeOf(until), httpStatus, error };
    const after = cursor === undefined ? undefined : placeOf(cursor);
    const { entries, next } = await this.lists.page(webhookIds, filter, after, limit);
    const facts = entries.map((entry) => entry.facts);
    return { deliveries: await this.#told(partnerId, facts), next };
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
