import { z } from 'zod';

/** One record of `relay.delivery-attempts` as the worker writes it: an attempt, or an end without one. */
export const AttemptRecord = z.object({
  deliveryId: z.string(),
  envelopeId: z.string(),
  webhookId: z.string(),
  eventType: z.string(),
  /** RFC 3339. */
  at: z.string(),
  outcome: z.enum(['delivered', 'retry', 'dead-letter', 'cancelled']),
  final: z.boolean(),
  partnerId: z.string().optional(),
  /** Number within its series, 1 for the first; none when the delivery ended without an attempt. */
  attempt: z.number().optional(),
  durationMs: z.number().optional(),
  status: z.number().optional(),
  error: z.string().optional(),
  detail: z.string().optional(),
  reason: z.string().optional(),
  nextAt: z.string().optional(),
});
export type AttemptRecord = z.infer<typeof AttemptRecord>;
