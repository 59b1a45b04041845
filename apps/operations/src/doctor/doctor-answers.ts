import { z } from 'zod';

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
