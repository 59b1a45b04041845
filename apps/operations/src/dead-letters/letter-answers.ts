import { DeadLetter } from '@relay/dead-letters';
import { ShownAttempt } from '@relay/events';
import { z } from 'zod';

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
