import { egressPolicy, type EgressPolicy } from '@relay/egress';
import type { z } from 'zod';
import type { checkedDestinationEnv } from './checked-groups.js';

/** Which endpoints may be registered, tested and delivered to. */
export const policyOf = (config: z.infer<z.ZodObject<typeof checkedDestinationEnv>>): EgressPolicy =>
  egressPolicy({
    ports: config.EGRESS_PORTS,
    allowHttp: config.EGRESS_ALLOW_HTTP,
    allowCidrs: config.EGRESS_ALLOW_CIDRS,
    denyCidrs: config.EGRESS_DENY_CIDRS,
    nat64Prefix: config.EGRESS_NAT64_PREFIX,
  });
