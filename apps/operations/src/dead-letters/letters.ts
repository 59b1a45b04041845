import { DeadLetter, type DeadLetterSelection, type DeadLetterFilter } from '@relay/dead-letters';
import { ENVELOPE_TYPES, ShownAttempt } from '@relay/events';
import { z } from 'zod';

const filter = {
  type: z.enum(ENVELOPE_TYPES).optional().describe('Only of this event type.'),
  reason: DeadLetter.shape.reason.optional().describe('Only given up for this reason.'),
  webhook: z.string().max(100).optional().describe('Only of this webhook.'),
};

/** Query of `GET /dead-letters/facets?type=&reason=&webhook=`. */
export const FacetQuery = z.strictObject(filter);

/** Query of `GET /dead-letters?type=&reason=&webhook=&limit=&cursor=`. */
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
 * Selects the dead letters to replay or purge: by ids, by `all`, or by filters. Exactly one way is required, so an empty
 * selection never means all.
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

const complete = z.boolean().describe('Whether all were looked at within 5 s; if not, more are left.');
const after = z
  .string()
  .optional()
  .describe('The last one that was looked at and stays: the same request with it goes on.');
const missing = z.array(z.string()).describe('Ids that name no dead letter.');

const facts = z.object({
  id: z.string(),
  envelopeId: z.string(),
  webhookId: z.string(),
  partnerId: z.string(),
  eventType: z.string(),
  reason: DeadLetter.shape.reason,
  lastFailure: z.string().optional(),
  lastAttempt: ShownAttempt.optional().describe(
    'None before the first attempt. With what the endpoint answered, but not for the role `viewer`.',
  ),
  attempts: z.int(),
  series: z.int(),
  acceptedAt: z.iso.datetime(),
  diedAt: z.iso.datetime(),
});

export const LetterList = z
  .object({
    stored: z.int().describe('Dead letters in all, without the filter.'),
    complete,
    deadLetters: z.array(facts.meta({ id: 'DeadLetter', description: 'A dead letter without its envelope.' })),
  })
  .meta({ id: 'DeadLetters', description: 'Dead letters, newest first.' });

export const InspectedLetter = facts
  .extend({ body: z.string().describe('The envelope; empty if Redis has lost it.') })
  .meta({ id: 'InspectedDeadLetter', description: 'A dead letter with its envelope.' });

const facet = z.array(z.object({ value: z.string(), count: z.int() }));

export const LetterFacets = z
  .object({ matched: z.int(), complete, types: facet, reasons: facet, webhooks: facet, partners: facet })
  .meta({ id: 'DeadLetterFacets', description: 'Dead letters counted by value; the hundred most frequent of each.' });

export const LetterCount = z
  .object({
    matched: z.int(),
    complete,
    until: z.iso
      .datetime()
      .describe('Those given up before this time are counted: for the replay or purge of the same.'),
  })
  .meta({ id: 'DeadLetterCount', description: 'The answer to a dry run.' });
export type LetterCount = z.infer<typeof LetterCount>;

export const ReplayOutcome = z.union([
  z
    .object({
      replayed: z.int(),
      deliveries: z.int(),
      refused: z.array(z.object({ id: z.string(), why: z.string() })).describe('The first thousand.'),
      refusedCount: z.int(),
      missing,
      complete,
      after,
    })
    .meta({ id: 'DeadLetterReplay', description: 'What became of dead letters.' }),
  LetterCount,
]);

export const PurgeOutcome = z.union([
  z
    .object({ purged: z.int(), missing, complete, after })
    .meta({ id: 'DeadLetterPurge', description: 'How many were purged.' }),
  LetterCount,
]);
