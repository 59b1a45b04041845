import { z } from 'zod';
import { DeliveryJob } from './delivery-job.js';
import type { DeadLetterReason } from './disposition.js';

/** The reasons of `disposition.ts`, as they stand in a stored dead letter. */
const REASONS = [
  'attempts_exhausted',
  'horizon_passed',
  'gone',
  'id_conflict',
  'handling_failed',
] as const satisfies DeadLetterReason[];

/** A delivery that is over and visible: kept 30 days until it is replayed or purged. */
export const DeadLetter = DeliveryJob.extend({
  reason: z.enum(REASONS),
  /** Milliseconds since the epoch. */
  diedAt: z.number(),
});
export type DeadLetter = z.infer<typeof DeadLetter>;
