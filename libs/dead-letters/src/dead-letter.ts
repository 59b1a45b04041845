import { DeliveryJob, withBodyAside } from '@relay/jobs';
import { z } from 'zod';

/**
 * Why a delivery is a dead letter.
 * - `attempts_exhausted`: every attempt of the schedule failed.
 * - `horizon_passed`: no further attempt fits into the 96 hours after acceptance.
 * - `gone`: the endpoint answered 410; its webhook is disabled.
 * - `id_conflict`: the log holds another content under the same envelope id; the first one wins.
 * - `audience_unknown`: the record names partners, and none of them exists. Only foreign producers can write it, or a source while
 *   Redis is away.
 * - `handling_failed`: an accepted envelope could not be handled, a fault of ours.
 *
 * A delivery whose webhook was deleted meanwhile is no dead letter: it ends as `cancelled`, before any attempt.
 */
export const DeadLetterReason = z.enum([
  'attempts_exhausted',
  'horizon_passed',
  'gone',
  'id_conflict',
  'audience_unknown',
  'handling_failed',
]);
export type DeadLetterReason = z.infer<typeof DeadLetterReason>;

/** A delivery that was given up, kept for 30 days unless an operator replays or purges it first. */
export const DeadLetter = DeliveryJob.extend({
  reason: DeadLetterReason,
  /** Milliseconds since the epoch. */
  diedAt: z.number(),
});
export type DeadLetter = z.infer<typeof DeadLetter>;

/** A dead letter as its queue holds it; see `StoredJob`. */
export const StoredDeadLetter = z.union([DeadLetter, DeadLetter.omit({ v: true, body: true }).extend(withBodyAside)]);
export type StoredDeadLetter = z.infer<typeof StoredDeadLetter>;

export interface DeadLetterQueue {
  /** Resolves when the dead letter is stored; adding one that is stored already changes nothing. */
  addDeadLetter(letter: DeadLetter): Promise<void>;
}

/**
 * Record of `relay.dead-letters` for a dead letter that an operator ended, so that a recovery does not bring it back. The id of
 * a dead letter names the acceptance of its envelope and is never used again, so its ending counts wherever it is in the log.
 */
export const DeadLetterEnding = z.object({
  v: z.literal(1),
  deliveryId: z.string(),
  ended: z.enum(['replayed', 'purged']),
  /** Epoch milliseconds. */
  at: z.number(),
  /** Ids of the deliveries that a replay made of it. */
  deliveries: z.array(z.string()),
});
export type DeadLetterEnding = z.infer<typeof DeadLetterEnding>;
