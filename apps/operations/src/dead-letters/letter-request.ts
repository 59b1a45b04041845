import { DeadLetter, type DeadLetterSelection, type DeadLetterFilter } from '@relay/dead-letters';
import { ENVELOPE_TYPES } from '@relay/events';
import { z } from 'zod';

const filter = {
  type: z.enum(ENVELOPE_TYPES).optional().describe('Only of this event type.'),
  reason: DeadLetter.shape.reason.optional().describe('Only given up for this reason.'),
  webhook: z.string().max(100).optional().describe('Only of this webhook.'),
};

/** `GET /dead-letters/facets?type=&reason=&webhook=` */
export const FacetQuery = z.strictObject(filter);

/** `GET /dead-letters?type=&reason=&webhook=&limit=&cursor=` */
export const LetterQuery = z.strictObject({
  ...filter,
  limit: z.coerce.number().int().min(1).max(1_000).default(100).describe('Longest page: 1 to 1,000.'),
  cursor: z
    .string()
    .regex(/^\d{1,9}\.[\w-]{0,300}$/, 'a cursor comes from the Link header of the page before')
    .optional()
    .describe('Where the page begins; out of the Link header of the page before.'),
});

/**
 * Selects the dead letters to replay or purge: by ids, by `all`, or by filters. Exactly one way is allowed, so that
 * omission selects nothing.
 */
export const LetterSelection = z
  .strictObject({
    ids: z.array(z.string().min(1).max(300)).min(1).max(1_000).optional(),
    all: z.literal(true).optional(),
    ...filter,
    until: z.iso
      .datetime({ offset: true })
      .optional()
      .describe(
        'Only those given up before this time: the `until` of a dry run changes nothing that it did not count.',
      ),
    after: z.string().min(1).max(300).optional().describe('Only those after this one, as an answer named it.'),
    dryRun: z.boolean().default(false).describe('Only count them.'),
  })
  .refine(({ ids, all, type, reason, webhook }) => {
    const filtered = type !== undefined || reason !== undefined || webhook !== undefined;
    return Number(ids !== undefined) + Number(all === true || filtered) === 1;
  }, 'say which dead letters: either ids, or all, or type, reason, webhook')
  .meta({ id: 'DeadLetterSelection', description: 'The dead letters to replay or purge.' });
export type LetterSelection = z.infer<typeof LetterSelection>;

/** Options of a replay or purge of one dead letter. */
export const OneLetter = z
  .strictObject({ dryRun: z.boolean().default(false) })
  .meta({ id: 'OneDeadLetter', description: 'Whether it is looked up only.' });
export type OneLetter = z.infer<typeof OneLetter>;

export function filterOf({ type, reason, webhook }: z.infer<z.ZodObject<typeof filter>>): DeadLetterFilter {
  return {
    ...(type === undefined ? {} : { type }),
    ...(reason === undefined ? {} : { reason }),
    ...(webhook === undefined ? {} : { webhook }),
  };
}

export const choiceOf = (selection: LetterSelection): DeadLetterSelection => ({
  ids: selection.ids ?? [],
  filter: {
    ...filterOf(selection),
    ...(selection.until === undefined ? {} : { until: Date.parse(selection.until) }),
  },
  ...(selection.after === undefined ? {} : { after: selection.after }),
});
