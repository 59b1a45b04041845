import { WebhookId } from '@relay/webhooks';
import { z } from 'zod';

export const EnvelopeId = z.guid().toLowerCase().describe('Identifier of the envelope: what came as `webhook-id`.');

export const RetryRequest = z
  .object({ webhookId: WebhookId.optional().describe('Only to this webhook; to all of yours without.') })
  .meta({ id: 'RetryRequest', description: 'Which deliveries are to be tried now. No member is required.' });
export type RetryRequest = z.infer<typeof RetryRequest>;

export const RetryAnswer = z
  .object({ retried: z.int().describe('Deliveries that are due now; each is attempted when its endpoint has room.') })
  .meta({ id: 'RetryAnswer' });
export type RetryAnswer = z.infer<typeof RetryAnswer>;
