import { z } from 'zod';
import { secret } from './env.js';
import { egressEnv, tokenEnv, webhooksEnv } from './settings.js';

const { EGRESS_PORTS, EGRESS_ALLOW_HTTP, EGRESS_ALLOW_CIDRS, EGRESS_DENY_CIDRS, EGRESS_NAT64_PREFIX } = egressEnv;

/** What `relay send` reads. */
export const sendEnv = {
  PUBLIC_URL: tokenEnv.PUBLIC_URL,
  RELAY_CLIENT_ID: z.string().optional().describe('Client id of the source that `relay send` sends as.'),
  RELAY_CLIENT_SECRET: secret(z.string().optional()).describe('Its client secret.'),
};

/** How the command line asks the operations app. */
export const operationsEnv = {
  OPERATIONS_URL: z
    .url({ protocol: /^https?$/ })
    .default('http://localhost:3100')
    .describe('Address of the operations app, for the commands that ask it.'),
  OPERATOR_CLIENT_ID: z.string().optional().describe('Client id of the operator that these commands ask as.'),
  OPERATOR_CLIENT_SECRET: secret(z.string().optional()).describe('Its client secret.'),
};

/** What `relay listen` reads beside the stores: whether the worker may deliver to this machine. */
export const listenEnv = {
  ...webhooksEnv,
  EGRESS_PORTS,
  EGRESS_ALLOW_HTTP,
  EGRESS_ALLOW_CIDRS,
  EGRESS_DENY_CIDRS,
  EGRESS_NAT64_PREFIX,
};
