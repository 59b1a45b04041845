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
