import { z } from 'zod';

/** The stored facts of an attempt: in a waiting job, in a dead letter, in the history. */
export const AttemptFacts = z.object({
  /** Its beginning, epoch milliseconds. */
  at: z.number(),
  durationMs: z.number(),
  /** HTTP status of the endpoint, if it answered. */
  status: z.number().optional(),
  /** Kind of failure, if it did not. */
  error: z.string().optional(),
  /** What went wrong, in words. */
  detail: z.string().optional(),
  /** What the endpoint answered, if it failed with a text, without secrets. */
  answer: z.string().optional(),
});
export type AttemptFacts = z.infer<typeof AttemptFacts>;
