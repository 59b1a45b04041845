import { z } from 'zod';
import { LagAnswer, QueuesAnswer } from '../state/state-answers.js';

const rate = z.number().nullable();

export const Now = z
  .object({
    at: z.iso.datetime(),
    lag: LagAnswer.nullable(),
    queues: QueuesAnswer.shape.queues.nullable(),
    waiting: z.int().nullable().describe('Queued deliveries, due or not, without those being attempted.'),
    oldestWaitingS: z
      .number()
      .nullable()
      .describe('Seconds since the queued delivery that was due first was due; 0 while none is due.'),
    deadLetters: z.int().nullable(),
    parked: z.int().nullable().describe('Webhooks for which something waits in the log.'),
    rates: z
      .object({
        accepted: rate.describe('Envelopes, by the log.'),
        delivered: rate.describe('Attempts that the endpoint answered 2xx, by the index of attempts.'),
        failed: rate.describe('Other attempts, by the index of attempts.'),
      })
      .describe('Per second, over the last minute.'),
    alerts: z
      .array(
        z.object({
          name: z.string(),
          severity: z.enum(['critical', 'warning', 'info']),
          state: z
            .enum(['firing', 'pending', 'quiet', 'unknown'])
            .describe(
              'By this process: `pending` is true, but not yet for as long as the rule asks. `unknown`: only Prometheus knows, or its store is away.',
            ),
          value: z.number().nullable(),
          since: z.iso.datetime().nullable().describe('Since when the rule is true, as far as this process knows.'),
          means: z.string(),
          runbook: z.string(),
        }),
      )
      .describe('The rules of the chart. After a start of this process one fires later here than in Prometheus.'),
    incomplete: z.array(z.enum(['redis', 'kafka', 'index'])).describe('What is away; its values are null.'),
  })
  .meta({ id: 'Now', description: 'What the relay does at the moment.' });
