import { z } from 'zod';
import { AnswerHeaders, AttemptTiming } from './attempt-facts.js';

/** One record of `relay.delivery-attempts`: an attempt, or an end without one. */
export const AttemptRecord = z
  .object({
    deliveryId: z.string().describe('One envelope on its way to one webhook.'),
    envelopeId: z.string(),
    webhookId: z.string(),
    eventType: z.string(),
    at: z.string().describe('Beginning of the attempt, RFC 3339.'),
    outcome: z.enum(['delivered', 'retry', 'dead-letter', 'cancelled']),
    final: z.boolean().describe('Whether no further attempt will follow.'),
    partnerId: z.string().optional(),
    attempt: z.number().optional().describe('1 for the first of its series; none when it ended without an attempt.'),
    durationMs: z.number().optional(),
    status: z.number().optional().describe('HTTP status of the endpoint, if it answered.'),
    error: z.string().optional().describe('Kind of failure, if it did not.'),
    detail: z.string().optional().describe('What went wrong, in words.'),
    answer: z
      .string()
      .optional()
      .describe(
        'What the endpoint answered with a text: at most 1,024 characters, without secrets. Of a failed attempt, and now and then of a delivered one.',
      ),
    answerHeaders: AnswerHeaders.optional(),
    timing: AttemptTiming.optional(),
    reason: z.string().optional().describe('Why it is given up or cancelled.'),
    nextAt: z.string().optional().describe('When it is repeated, RFC 3339.'),
  })
  .meta({ id: 'AttemptRecord', description: 'An attempt at an endpoint, or the end of a delivery without one.' });
export type AttemptRecord = z.infer<typeof AttemptRecord>;
