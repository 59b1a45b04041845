import { ENVELOPE_TYPES } from '@relay/events';
import { z } from 'zod';
import { cursor } from '../http/cursor.js';

export const TROUBLES = ['breaker', 'failing', 'waiting'] as const;
export type Trouble = (typeof TROUBLES)[number];

export const SORTS = ['waiting', 'oldestWaiting', 'failureRate'] as const;
export type Sort = (typeof SORTS)[number];

export const WebhookQuery = z.strictObject({
  status: z.enum(['active', 'parked', 'disabled']).optional().describe('Only webhooks of this status.'),
  trouble: z
    .enum(TROUBLES)
    .optional()
    .describe(
      'Only webhooks whose breaker is open, whose attempts all fail, or which have waiting deliveries; sorted by `waiting` unless `sort` is given.',
    ),
  sort: z
    .enum(SORTS)
    .optional()
    .describe('The worst first: most waiting deliveries, the longest wait, or the highest share of failures.'),
  partner: z.string().max(100).optional().describe('Only webhooks of this partner.'),
  eventType: z.enum(ENVELOPE_TYPES).optional().describe('Only webhooks of this event type.'),
  limit: z.coerce.number().int().min(1).max(10_000).default(1_000).describe('Longest page: 1 to 10,000.'),
  cursor,
});

const moment = z.iso.datetime().nullable();

export const WebhookState = z
  .object({
    id: z.string(),
    partnerId: z.string(),
    eventType: z.enum(ENVELOPE_TYPES),
    origin: z.string().describe('Of its URL; partners put keys into path and query.'),
    status: z.enum(['active', 'parked', 'disabled']),
    disabledReason: z.string().nullable(),
    createdAt: z.iso.datetime(),
    waiting: z.int().describe('Deliveries in the queue. A parked webhook has more in the log.'),
    oldestWaitingSince: moment.describe(
      'When the oldest of these was accepted. Where very many wait, the oldest of a part of them, at least ten of each webhook.',
    ),
    failureRate: z
      .number()
      .nullable()
      .describe(
        'Share of failed attempts in those of `HISTORY_WINDOW`, by default 24 hours: 0 to 1; `null` without an attempt. The partner is told the same.',
      ),
    failingSince: moment.describe('Since when all its attempts fail.'),
    breaker: z
      .enum(['closed', 'open', 'half-open'])
      .describe('Open after failures: its own, or that of all webhooks of its partner at its origin.'),
    notBefore: moment.describe('When its next attempt may be made, if it is not now.'),
  })
  .meta({ id: 'WebhookState', description: 'A webhook and what troubles it.' });
export type WebhookState = z.infer<typeof WebhookState>;
export type WebhookQuery = z.infer<typeof WebhookQuery>;

export const WebhookStates = z
  .object({ total: z.int().describe('Without `limit`.'), webhooks: z.array(WebhookState) })
  .meta({ id: 'WebhookStates', description: 'Webhooks of all partners, oldest first unless sorted.' });
