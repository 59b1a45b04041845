import { EventTypeName } from '@relay/webhooks';
import { z } from 'zod';

const MAX_LIMIT = 1_000;

export const ListQuery = z.object({
  eventType: EventTypeName.optional().describe('Only webhooks of this event type.'),
  limit: z
    .string()
    .regex(/^(?:[1-9]\d{0,2}|1000)$/, `a number from 1 to ${MAX_LIMIT} is expected`)
    .transform(Number)
    .default(MAX_LIMIT)
    .describe('Longest page: 1 to 1000.'),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/, 'a cursor comes from the Link header of the page before')
    .transform(Number)
    .optional()
    .describe('Where the page begins; out of the Link header of the page before.'),
});
export type ListQuery = z.infer<typeof ListQuery>;

/** `Link` header of a page that is not the last (RFC 8288); relative, to be resolved against the address asked. */
export function linkToNext(path: string, query: ListQuery, cursor: number): string {
  const parameters = new URLSearchParams({ limit: String(query.limit), cursor: String(cursor) });
  if (query.eventType !== undefined) parameters.set('eventType', query.eventType);
  return `<${path}?${parameters.toString()}>; rel="next"`;
}
