import type { AttemptFacts } from '@relay/events';
import type { HistoryLine } from '@relay/history';
import type { PendingDelivery } from '@relay/retry';
import { z } from 'zod';

const moment = z.iso.datetime();

export const DELIVERY_STATUSES = ['delivered', 'waiting', 'dead'] as const;

const AttemptAnswer = z
  .object({
    at: moment.describe('When it began.'),
    durationMs: z.int(),
    status: z.int().optional().describe('HTTP status of the endpoint, if it answered.'),
    error: z.string().optional().describe('Kind of failure, if it did not.'),
    detail: z.string().optional().describe('What went wrong, in words.'),
  })
  .meta({ id: 'Attempt', description: 'A call of the endpoint.' });

export const DeliveryAnswer = z
  .object({
    envelopeId: z.guid().describe('The `webhook-id` of its deliveries.'),
    webhookId: z.guid(),
    status: z
      .enum(DELIVERY_STATUSES)
      .describe(
        '`waiting`: attempted again by the schedule, or for the first time when its endpoint has room; `dead`: given up; `retry` starts the schedule again.',
      ),
    at: moment.describe(
      'When it was delivered or given up, or its last attempt; when it was accepted, if there was none.',
    ),
    nextAttemptAt: moment.nullable().describe('Of a waiting delivery; `null` if it is due now.'),
    reason: z.string().nullable().describe('Why it was given up.'),
    attempts: z
      .array(AttemptAnswer)
      .describe('All that are known, oldest first, those before a retry of a dead one included.'),
  })
  .meta({ id: 'Delivery', description: 'An envelope on its way to a webhook, or one more time on it by a replay.' });
export type DeliveryAnswer = z.infer<typeof DeliveryAnswer>;

export const DeliveryAnswers = z.object({ deliveries: z.array(DeliveryAnswer) }).meta({ id: 'Deliveries' });
export type DeliveryAnswers = z.infer<typeof DeliveryAnswers>;

const timeOf = (epochMs: number): string => new Date(epochMs).toISOString();

const attemptsOf = (facts: readonly AttemptFacts[]): DeliveryAnswer['attempts'] =>
  facts.map(({ at, ...rest }) => ({ at: timeOf(at), ...rest }));

export const deliveredFacts = ({ envelopeId, webhookId, endedAt, attempts }: HistoryLine): DeliveryAnswer => ({
  envelopeId,
  webhookId,
  status: 'delivered',
  at: timeOf(endedAt),
  nextAttemptAt: null,
  reason: null,
  attempts: attemptsOf(attempts),
});

export function unsettledFacts({ job, letter, diedAt, dueAt }: PendingDelivery): DeliveryAnswer {
  const tries = job.tries ?? [];
  return {
    envelopeId: job.envelopeId,
    webhookId: job.webhookId,
    status: letter === undefined ? 'waiting' : 'dead',
    at: timeOf(diedAt ?? tries.at(-1)?.at ?? job.acceptedAt),
    nextAttemptAt: letter === undefined && dueAt !== undefined ? timeOf(dueAt) : null,
    reason: letter?.reason ?? null,
    attempts: attemptsOf(tries),
  };
}
