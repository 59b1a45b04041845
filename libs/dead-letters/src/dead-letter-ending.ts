import { z } from 'zod';

/**
 * Told on `relay.dead-letters` when an operator ended a letter, so that a recovery does not bring it back. A letter's id is
 * never used again, so an end counts wherever it stands in the log.
 */
export const LetterEnd = z.object({
  v: z.literal(1),
  /** Id of the letter. */
  deliveryId: z.string(),
  ended: z.enum(['replayed', 'purged']),
  /** Epoch milliseconds. */
  at: z.number(),
  /** Ids of the deliveries that a replay made of it. */
  deliveries: z.array(z.string()),
});
export type LetterEnd = z.infer<typeof LetterEnd>;
