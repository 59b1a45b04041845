import { AttemptRecord } from '@relay/events';
import { z } from 'zod';

/** The answer of a search. */
export const AttemptAnswers = z
  .object({
    attempts: z.array(
      AttemptRecord.extend({
        host: z.string().optional().describe('Host of the endpoint, where it was known when the attempt was indexed.'),
      }).meta({ id: 'IndexedAttempt' }),
    ),
    next: z
      .string()
      .nullable()
      .describe(
        'The `cursor` of the next page; a page may be short and have a next one, since a search looks at 100,000 attempts at once.',
      ),
    since: z.iso
      .datetime()
      .nullable()
      .describe('No attempt that began later is missing, but for those of `lag`; `null` while the index is away.'),
    lag: z.int().describe('Records of the log that are not indexed yet.'),
    incomplete: z.array(z.literal('index')).describe('Has `index` while the index is behind the log or away.'),
  })
  .meta({
    id: 'AttemptAnswers',
    description: 'Attempts, newest first; for the role `viewer` without what endpoints answered.',
  });
export type AttemptAnswers = z.infer<typeof AttemptAnswers>;
