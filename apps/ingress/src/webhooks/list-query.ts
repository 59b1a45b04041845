import { EventTypeName } from '@relay/webhooks';
import { z } from 'zod';

/** The members of a query for a page of a partner's webhooks. @param limits matches the numbers from 1 to `longest` */
export const webhooksPage = (longest: number, limits: RegExp) => ({
  eventType: EventTypeName.optional().describe('Only webhooks of this event type.'),
  limit: z
    .string()
    .regex(limits, `a number from 1 to ${longest} is expected`)
    .transform(Number)
    .default(longest)
    .describe(`Longest page: 1 to ${longest}.`),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/, 'a cursor comes from the Link header of the page before')
    .transform(Number)
    .optional()
    .describe('Where the page begins; out of the Link header of the page before.'),
});

export const ListQuery = z.object(webhooksPage(1_000, /^(?:[1-9]\d{0,2}|1000)$/));
export type ListQuery = z.infer<typeof ListQuery>;
