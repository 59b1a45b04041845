import { ENVELOPE_TYPES } from '@relay/events';
import type { SoughtEnvelope } from '@relay/kafka';
import { z } from 'zod';

/** Where the caller thinks that an envelope is: its type, and about when it was accepted, to within a minute. */
export type EnvelopeClue = Omit<SoughtEnvelope, 'envelopeId'>;

/** Where to look for an envelope that was never attempted: neither the index nor a queue knows when it was accepted. */
export const ClueQuery = z
  .strictObject({
    type: z.enum(ENVELOPE_TYPES).optional().describe('Its event type.'),
    around: z.iso.datetime({ offset: true }).optional().describe('About when it was accepted, to within a minute.'),
  })
  .refine(({ type, around }) => (type === undefined) === (around === undefined), 'type and around go together');

export const clueOf = ({ type, around }: z.infer<typeof ClueQuery>): EnvelopeClue | undefined =>
  type === undefined || around === undefined ? undefined : { eventType: type, acceptedAt: Date.parse(around) };
