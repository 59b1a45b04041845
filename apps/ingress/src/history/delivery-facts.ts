import { isAskedToWait, ShownAttempt, shownAttempt } from '@relay/events';
import type { HistoryLine } from '@relay/history';
import type { PendingDelivery } from '@relay/retry';
import type { RegisteredWebhook } from '@relay/webhooks';
import { z } from 'zod';

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

/** What is known of a delivery without its webhook. */
export type DeliveryFacts = Omit<DeliveryAnswer, 'eventType'>;

const timeOf = (epochMs: number): string => new Date(epochMs).toISOString();

export const deliveredFacts = (line: HistoryLine): DeliveryFacts => ({
  envelopeId: line.envelopeId,
  webhookId: line.webhookId,
  status: 'delivered',
  at: timeOf(line.endedAt),
  acceptedAt: timeOf(line.acceptedAt),
  series: line.series,
  nextAttemptAt: null,
  waitsFor: null,
  reason: null,
  attempts: line.attempts.map(shownAttempt),
});

/** @param now epoch milliseconds */
export function unsettledFacts({ job, letter, diedAt, dueAt }: PendingDelivery, now: number): DeliveryFacts {
  const tries = job.tries ?? [];
  const isWaiting = letter === undefined;
  const next = isWaiting && (dueAt ?? 0) > now ? dueAt : undefined;
  const isTimed = job.attempts > 0 && next !== undefined;
  const waitsFor = !isTimed ? 'endpoint' : isAskedToWait(tries, next) ? 'retry-after' : 'schedule';
  return {
    envelopeId: job.envelopeId,
    webhookId: job.webhookId,
    status: isWaiting ? 'waiting' : 'dead',
    at: timeOf(diedAt ?? tries.at(-1)?.at ?? job.acceptedAt),
    acceptedAt: timeOf(job.waitedSince ?? job.acceptedAt),
    series: job.series,
    nextAttemptAt: next === undefined ? null : timeOf(next),
    waitsFor: isWaiting ? waitsFor : null,
    reason: letter?.reason ?? null,
    attempts: tries.map(shownAttempt),
  };
}

export const answerOf = (
  { waitsFor, ...facts }: DeliveryFacts,
  { eventType, status }: Pick<RegisteredWebhook, 'eventType' | 'status'>,
): DeliveryAnswer => ({
  ...facts,
  eventType,
  waitsFor: waitsFor !== null && status === 'disabled' ? 'webhook' : waitsFor,
});

/**
 * Cursor of a page: milliseconds, and the entry within that millisecond: `u` with the id of an unsettled delivery, `d`
 * with the place of a delivered one and its webhook.
 */
export const CURSOR = /^(\d{1,15})(?:u([\w-]{1,160})|d(\d{1,15})w([\da-f-]{36}))$/;

/**
 * A place in a list of deliveries, newest first. Within a millisecond unsettled deliveries come first, by descending id,
 * then delivered ones, by descending webhook and place.
 */
export type Place = { readonly at: number } & (
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

/** Negative when the first comes before the second. */
export function comparePlaces(a: Place, b: Place): number {
  if (a.at !== b.at) return b.at - a.at;
  if ('id' in a) return 'id' in b ? descending(a.id, b.id) : -1;
  return 'id' in b ? 1 : descending(a.webhookId, b.webhookId) || b.place - a.place;
}

const descending = (a: string, b: string): number => (a > b ? -1 : a < b ? 1 : 0);

/** `since` inclusive, `until` exclusive, epoch milliseconds. */
export interface Period {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** Where the dead letters behind a place begin. */
export function deadBehind({ since, until }: Period, after: Place | undefined) {
  if (after === undefined) return { since, until };
  if ('id' in after) return { since, until, before: after };
  return { since, until: earlier(until, after.at) };
}

/** Where the delivered deliveries of a webhook behind a place begin. */
export function deliveredBehind({ since, until }: Period, after: Place | undefined, webhookId: string) {
  if (after === undefined) return { since, until };
  if (!('id' in after) && after.webhookId === webhookId)
    return { since, until, before: { endedAt: after.at, place: after.place } };
  const isPast = !('id' in after) && descending(webhookId, after.webhookId) < 0;
  return { since, until: earlier(until, isPast ? after.at : after.at + 1) };
}

const earlier = (until: number | undefined, at: number): number => Math.min(until ?? Infinity, at);
