import { OPERATOR_ROLES } from '@relay/identity';
import { z } from 'zod';

export const Login = z
  .strictObject({
    clientId: z.string().min(1).max(100).describe('Of an operator.'),
    clientSecret: z.string().min(1).max(200),
  })
  .meta({ id: 'Login', description: 'Client id and client secret of an operator.' });
export type Login = z.infer<typeof Login>;

export const OperatorNow = z
  .object({
    clientId: z.string(),
    name: z.string(),
    role: z.enum(OPERATOR_ROLES),
    canWrite: z.boolean().describe('`false` where `OPERATIONS_WRITE` is: nobody changes anything here.'),
    idleS: z.int().describe('A session ends after so many seconds in which nobody does anything.'),
    version: z.string().describe('Of the relay.'),
  })
  .meta({ id: 'OperatorNow', description: 'Who asks, and what it may do.' });
export type OperatorNow = z.infer<typeof OperatorNow>;
