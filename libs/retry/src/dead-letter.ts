import { z } from 'zod';
import { DeliveryJob } from './delivery-job.js';

/**
 * Why a delivery ended without a 2xx:
 * - `exhausted`: every attempt of the schedule failed
 * - `horizon`: 96 h passed since the envelope was accepted
 * - `gone`: the endpoint answered 410
 * - `id_conflict`: the envelope's id was first used with other content; this content was never sent
 * - `handling_failed`: the relay itself failed on an accepted envelope; its webhooks were not expanded
 */
export const DeadLetterReason = z.enum(['exhausted', 'horizon', 'gone', 'id_conflict', 'handling_failed']);
export type DeadLetterReason = z.infer<typeof DeadLetterReason>;

/** A delivery that is over and visible: kept 30 days until it is replayed or purged. */
export const DeadLetter = DeliveryJob.extend({
  reason: DeadLetterReason,
  /** Milliseconds since the epoch. */
  diedAt: z.number(),
});
export type DeadLetter = z.infer<typeof DeadLetter>;
