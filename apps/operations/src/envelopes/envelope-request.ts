import { ENVELOPE_TYPES } from '@relay/events';
import { z } from 'zod';

export const EnvelopeId = z.guid().toLowerCase();

/** Where to look for an envelope that was never attempted: neither the index nor a queue knows when it was accepted. */
export const ClueQuery = z
  .strictObject({
    type: z.enum(ENVELOPE_TYPES).optional().describe('Its event type.'),
    around: z.iso.datetime({ offset: true }).optional().describe('About when it was accepted, to within a minute.'),
  })
  .refine(({ type, around }) => (type === undefined) === (around === undefined), 'type and around go together');
