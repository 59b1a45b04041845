import { z } from 'zod';
import { DELIVERY_STATUSES } from './delivery-facts.js';

const MAX_LIMIT = 200;
const moment = z.iso.datetime({ offset: true });

/**
 * Cursor of a page: milliseconds, and the entry within that millisecond: `u` with the id of an unsettled delivery, `d`
 * with the place of a delivered one.
 */
const CURSOR = /^(\d{1,15})(?:u([\w-]{1,160})|d(\d{1,15}))$/;

export const HistoryQuery = z.object({
  status: z.enum(DELIVERY_STATUSES).optional().describe('Only deliveries that stand so.'),
  since: moment.optional().describe('Only those with an `at` of this time or later.'),
  until: moment.optional().describe('Only those with an `at` before this time.'),
  limit: z
    .string()
    .regex(/^(?:[1-9]\d?|1\d\d|200)$/, `a number from 1 to ${MAX_LIMIT} is expected`)
    .transform(Number)
    .default(50)
    .describe(`Longest page: 1 to ${MAX_LIMIT}.`),
  cursor: z
    .string()
    .regex(CURSOR, 'a cursor comes from the Link header of the page before')
    .optional()
    .describe('Where the page begins; out of the Link header of the page before.'),
});
export type HistoryQuery = z.infer<typeof HistoryQuery>;

/**
 * A place in a list of deliveries. Within a millisecond unsettled deliveries come first, then delivered ones, each
 * sorted by key in descending order.
 */
export type Place = { readonly at: number } & ({ readonly id: string } | { readonly place: number });

export function placeOf(cursor: string): Place | undefined {
  const [, at = '', id, place = ''] = CURSOR.exec(cursor) ?? [];
  if (at === '') return undefined;
  return id === undefined ? { at: Number(at), place: Number(place) } : { at: Number(at), id };
}

const cursorOf = (place: Place): string => `${place.at}${'id' in place ? `u${place.id}` : `d${place.place}`}`;

/** `Link` header of a page that is not the last (RFC 8288); relative, to be resolved against the address asked. */
export function linkToNext(path: string, query: HistoryQuery, last: Place): string {
  const parameters = new URLSearchParams({ limit: String(query.limit), cursor: cursorOf(last) });
  for (const name of ['status', 'since', 'until'] as const) {
    const value = query[name];
    if (value !== undefined) parameters.set(name, value);
  }
  return `<${path}?${parameters.toString()}>; rel="next"`;
}
