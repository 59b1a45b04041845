import { Inject, Injectable } from '@nestjs/common';
import { isAskedToWait, ShownAttempt, shownAttempt, type AttemptFacts } from '@relay/events';
import { merged, RedisDeliveryHistory, type HistoryLine, type SortedList } from '@relay/history';
import { PendingDeliveries, type PendingDelivery } from '@relay/retry';
import { WebhookStore, type RegisteredWebhook } from '@relay/webhooks';
import { z } from 'zod';
import type { DeliveriesQuery } from './history.openapi.js';

const moment = z.iso.datetime();

export const DELIVERY_STATUSES = ['delivered', 'waiting', 'dead'] as const;

export const DeliveryAnswer = z
  .object({
    envelopeId: z.guid().describe('The `webhook-id` of its deliveries.'),
    webhookId: z.guid(),
    eventType: z.string(),
    status: z
      .enum(DELIVERY_STATUSES)
      .describe(
        '`waiting`: attempted again by the schedule, or for the first time when its endpoint has room; `dead`: given up; `retry` starts the schedule again.',
      ),
    at: moment.describe(
      'When it was delivered or given up, or its last attempt; when it was accepted, if there was none.',
    ),
    acceptedAt: moment.describe('When the relay accepted the envelope.'),
    series: z
      .int()
      .describe(
        '0 before any replay; each retry of a dead delivery is one more, each replay of a time begins at a multiple of 1,000.',
      ),
    nextAttemptAt: moment.nullable().describe('Of a waiting delivery; `null` if it is due now.'),
    waitsFor: z
      .enum(['schedule', 'retry-after', 'endpoint', 'webhook'])
      .nullable()
      .describe(
        'Of a waiting delivery. `schedule`: the time of its next attempt; `retry-after`: the time that its endpoint asked for, which is later; `endpoint`: room at its endpoint, which is busy, paused or has never answered 2xx; `webhook`: its webhook is disabled.',
      ),
    reason: z.string().nullable().describe('Why it was given up.'),
    attempts: z
      .array(ShownAttempt)
      .describe('All that are known, oldest first, those before a retry of a dead one included.'),
  })
  .meta({ id: 'Delivery', description: 'An envelope on its way to a webhook, or one more time on it by a replay.' });
export type DeliveryAnswer = z.infer<typeof DeliveryAnswer>;

export const DeliveryAnswers = z.object({ deliveries: z.array(DeliveryAnswer) }).meta({ id: 'Deliveries' });
export type DeliveryAnswers = z.infer<typeof DeliveryAnswers>;

/** The members of a delivery that do not come from its webhook. */
type ListedFacts = Omit<DeliveryAnswer, 'eventType'>;

const isoOf = (epochMs: number): string => new Date(epochMs).toISOString();

const deliveredFacts = (line: HistoryLine): ListedFacts => ({
  envelopeId: line.envelopeId,
  webhookId: line.webhookId,
  status: 'delivered',
  at: isoOf(line.endedAt),
  acceptedAt: isoOf(line.acceptedAt),
  series: line.series,
  nextAttemptAt: null,
  waitsFor: null,
  reason: null,
  attempts: line.attempts.map(shownAttempt),
});

/** @param now epoch milliseconds */
function unsettledFacts({ job, letter, diedAt, dueAt }: PendingDelivery, now: number): ListedFacts {
  const tries = job.tries ?? [];
  const isWaiting = letter === undefined;
  const next = isWaiting && (dueAt ?? 0) > now ? dueAt : undefined;
  const isTimed = job.attempts > 0 && next !== undefined;
  const waitsFor = !isTimed ? 'endpoint' : isAskedToWait(tries, next) ? 'retry-after' : 'schedule';
  return {
    envelopeId: job.envelopeId,
    webhookId: job.webhookId,
    status: isWaiting ? 'waiting' : 'dead',
    at: isoOf(diedAt ?? tries.at(-1)?.at ?? job.acceptedAt),
    acceptedAt: isoOf(job.waitedSince ?? job.acceptedAt),
    series: job.series,
    nextAttemptAt: next === undefined ? null : isoOf(next),
    waitsFor: isWaiting ? waitsFor : null,
    reason: letter?.reason ?? null,
    attempts: tries.map(shownAttempt),
  };
}

const answerOf = (
  { waitsFor, ...facts }: ListedFacts,
  { eventType, status }: Pick<RegisteredWebhook, 'eventType' | 'status'>,
): DeliveryAnswer => ({
  ...facts,
  eventType,
  waitsFor: waitsFor !== null && status === 'disabled' ? 'webhook' : waitsFor,
});

/**
 * The cursor of a page. It begins with the time of the last entry in milliseconds. For an unsettled delivery, `u` and the id
 * of the delivery follow. For a delivered one, `d`, its place in the history, `w` and its webhook follow.
 */
export const CURSOR = /^(\d{1,15})(?:u([\w-]{1,160})|d(\d{1,15})w([\da-f-]{36}))$/;

/**
 * A place in a list of deliveries, newest first. Within the same millisecond, unsettled deliveries come first, by descending
 * id. Delivered ones follow, by descending webhook and then by descending place in the history of the webhook.
 */
type Place = { readonly at: number } & (
  | { readonly id: string }
  | { readonly place: number; readonly webhookId: string }
);

export function placeOf(cursor: string): Place | undefined {
  const [, at = '', id, place = '', webhookId = ''] = CURSOR.exec(cursor) ?? [];
  if (at === '') return undefined;
  return id === undefined ? { at: Number(at), place: Number(place), webhookId } : { at: Number(at), id };
}

export const cursorOf = (place: Place): string =>
  `${place.at}${'id' in place ? `u${place.id}` : `d${place.place}w${place.webhookId}`}`;

/** Returns a negative number if the first place comes before the second. */
function comparePlaces(a: Place, b: Place): number {
  if (a.at !== b.at) return b.at - a.at;
  if ('id' in a) return 'id' in b ? descending(a.id, b.id) : -1;
  return 'id' in b ? 1 : descending(a.webhookId, b.webhookId) || b.place - a.place;
}

const descending = (a: string, b: string): number => (a > b ? -1 : a < b ? 1 : 0);

/** A period in epoch milliseconds. `since` is included in the period, `until` is not. */
interface Period {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** Returns the range of the dead letters that follow a place in a list. */
function deadBehind({ since, until }: Period, after: Place | undefined) {
  if (after === undefined) return { since, until };
  if ('id' in after) return { since, until, before: after };
  return { since, until: earlier(until, after.at) };
}

/** Returns the range of a webhook's delivered deliveries that follow a place in a list. */
function deliveredBehind({ since, until }: Period, after: Place | undefined, webhookId: string) {
  if (after === undefined) return { since, until };
  if (!('id' in after) && after.webhookId === webhookId)
    return { since, until, before: { endedAt: after.at, place: after.place } };
  const isPast = !('id' in after) && descending(webhookId, after.webhookId) < 0;
  return { since, until: earlier(until, isPast ? after.at : after.at + 1) };
}

const earlier = (until: number | undefined, at: number): number => Math.min(until ?? Infinity, at);

interface DeliveryFilter extends Period {
  readonly statuses: readonly ListedFacts['status'][];
  /** The HTTP status of the last attempt, such as `503` or `5xx`. `error` also is about the last attempt. */
  readonly httpStatus?: string | undefined;
  readonly error?: string | undefined;
}

export interface Entry {
  readonly place: Place;
  readonly facts: ListedFacts;
}

/** @property next the place of the last entry that was read. The next page begins after it. Undefined if no entry follows */
interface EntryPage {
  readonly entries: readonly Entry[];
  readonly next?: Place;
}

/** Maximum number of deliveries that are read for a page, even if the filter drops most of them. */
export const LOOKED_AT = 1_000;
/**
 * The first read for a page fetches this many times the number of its entries, in equal shares from all lists. It fetches
 * more than a page because a few lists often have most entries of the page.
 */
const SPARE = 3;

/**
 * Lists deliveries, newest first. Unsettled deliveries come from the queues, delivered ones from the history. The caller
 * checks that the webhooks belong to the partner.
 */
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
    const wants = (status: ListedFacts['status']): boolean => filter.statuses.includes(status);
    // Waiting deliveries are read first. If one of them settles meanwhile, the dead letters or the history contain it.
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
    // Jobs contain envelopes, which need much memory. So this reads one webhook at a time and keeps only entries that may be
    // shown.
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

/** Whether delivered deliveries can match the filter. Their last attempt was always answered 2xx. */
const mayBeDelivered = ({ httpStatus, error }: DeliveryFilter): boolean =>
  error === undefined && (httpStatus === undefined || httpStatus.startsWith('2'));

function isSelected({ attempts }: ListedFacts, { httpStatus, error }: DeliveryFilter): boolean {
  const last = attempts.at(-1);
  return (httpStatus === undefined || isAnswered(last, httpStatus)) && (error === undefined || last?.error === error);
}

const isAnswered = (last: Pick<AttemptFacts, 'status'> | undefined, wanted: string): boolean =>
  last?.status !== undefined &&
  (wanted.endsWith('xx') ? wanted[0] === String(last.status)[0] : wanted === String(last.status));

/** Returns deliveries in the form that partners see. The caller first checks that the webhooks belong to the partner. */
@Injectable()
export class PartnerDeliveries {
  constructor(
    @Inject(WebhookStore) private readonly webhooks: Pick<WebhookStore, 'find'>,
    private readonly lists: DeliveryLists,
  ) {}

  /** Returns deliveries, newest first. `next` is set if more deliveries may follow. */
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

  /** Returns the answers. Deliveries to webhooks that were deleted meanwhile are left out. */
  async #told(partnerId: string, facts: readonly ListedFacts[]): Promise<DeliveryAnswer[]> {
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
