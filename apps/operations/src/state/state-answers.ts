import { z } from 'zod';

export const QueuesAnswer = z
  .object({
    queues: z.array(
      z.object({
        queue: z.string(),
        state: z.enum(['waiting', 'active', 'delayed', 'failed']),
        jobs: z.int(),
        oldestS: z
          .number()
          .optional()
          .describe('Seconds: since the next job was due, the oldest attempt began, or the oldest job was made.'),
      }),
    ),
  })
  .meta({ id: 'Queues', description: 'Jobs by queue and state.' });

export const LagAnswer = z
  .object({
    total: z.int(),
    topics: z.array(z.object({ topic: z.string(), lag: z.int().describe('Records that are not settled.') })),
  })
  .meta({ id: 'Lag', description: 'What the workers have not settled, by topic.' });

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
export type Now = z.infer<typeof Now>;

export const Findings = z
  .object({
    healthy: z.boolean().describe('Whether there is no fault.'),
    faults: z.int(),
    warnings: z.int(),
    findings: z.array(
      z.object({
        check: z.string(),
        state: z.enum(['ok', 'warning', 'fault']),
        text: z.string().describe('What was found, and what it means.'),
        fix: z.string().optional().describe('Of a warning or a fault.'),
      }),
    ),
    unchecked: z
      .array(z.string())
      .describe(
        'Checks of the settings of ingress and worker: only `relay doctor`, run beside one of them, makes them.',
      ),
  })
  .meta({ id: 'Findings', description: 'What an examination of the stores and the keys found.' });
export type Findings = z.infer<typeof Findings>;
