import { z } from 'zod';
import { secret } from './env.js';
import { urlOf } from './forms.js';
import { tokenEnv } from './settings.js';

/** What `relay send` and `relay listen` read. */
export const sendEnv = {
  PUBLIC_URL: tokenEnv.PUBLIC_URL,
  RELAY_CLIENT_ID: z
    .string()
    .optional()
    .describe('Client id of the source that `relay send` sends as, or of the partner that `relay listen` listens as.'),
  RELAY_CLIENT_SECRET: secret(z.string().optional()).describe('Its client secret.'),
};

/** How the command line asks the operations app. */
export const operationsEnv = {
  OPERATIONS_URL: urlOf({ scheme: 'http', login: false })
    .default('http://localhost:3100')
    .describe('Address of the operations app, for the commands that ask it.'),
  OPERATOR_CLIENT_ID: z.string().optional().describe('Client id of the operator that these commands ask as.'),
  OPERATOR_CLIENT_SECRET: secret(z.string().optional()).describe('Its client secret.'),
};
