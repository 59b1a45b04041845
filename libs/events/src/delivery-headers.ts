import { z } from 'zod';
import { ENVELOPE_TYPES } from './notice-type.js';

/** The headers of every delivery, besides the webhook's own credential. */
export const deliveryHeaders = z.object({
  'webhook-id': z.guid().describe("The envelope's id: the same on every attempt."),
  'webhook-timestamp': z.string().regex(/^\d+$/).describe('Time of this attempt, Unix seconds.'),
  'webhook-signature': z
    .string()
    .regex(/^v1,[\w+/=]+( v1,[\w+/=]+)*$/)
    .describe(
      "Standard Webhooks: HMAC-SHA256 of `id.timestamp.body` by the webhook's secret; two while it is rotated.",
    ),
  'relay-event-type': z.enum(ENVELOPE_TYPES),
  'relay-attempt': z.string().regex(/^\d+$/).describe('1, 2, …'),
  traceparent: z.string().optional().describe('W3C Trace Context.'),
});
