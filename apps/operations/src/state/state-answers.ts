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
