import { EVENT_TYPES } from '@relay/events';
import { z } from 'zod';

export const Receipt = z
  .object({
    id: z.guid().describe("The envelope's id, in lower case."),
    type: z.enum(EVENT_TYPES),
    status: z.enum(['accepted', 'duplicate']).describe('Stored now, or known with the same content already.'),
  })
  .meta({ id: 'Receipt', description: 'The log has the envelope.' });
export type Receipt = z.infer<typeof Receipt>;

export const BATCH_STATUSES = ['accepted', 'duplicate', 'conflict', 'invalid', 'unavailable'] as const;

export const BatchResult = z
  .object({
    id: z.string().nullable().describe('Null where none could be read.'),
    status: z
      .enum(BATCH_STATUSES)
      .describe('`conflict`: the id has other content. `unavailable`: send it again, it may be stored.'),
    errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
  })
  .meta({ id: 'BatchResult', description: 'What became of one envelope of a batch.' });
export type BatchResult = z.infer<typeof BatchResult>;

export const BatchAnswer = z
  .object({ results: z.array(BatchResult) })
  .meta({ id: 'BatchAnswer', description: 'One result for each envelope, in the order sent.' });
export type BatchAnswer = z.infer<typeof BatchAnswer>;
