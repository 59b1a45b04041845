import { z } from 'zod';

/**
 * Record of `relay.dead-letters` for a dead letter that an operator ended, so that a recovery does not bring it back. The id of
 * a dead letter names the acceptance of its envelope and is never used again, so its ending counts wherever it is in the log.
 */
export const DeadLetterEnding = z.object({
  v: z.literal(1),
  /** Id of the dead letter. */
  deliveryId: z.string(),
  ended: z.enum(['replayed', 'purged']),
  /** Epoch milliseconds. */
  at: z.number(),
  /** Ids of the deliveries that a replay made of it. */
  deliveries: z.array(z.string()),
});
export type DeadLetterEnding = z.infer<typeof DeadLetterEnding>;
