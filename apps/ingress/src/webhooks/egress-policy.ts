import { egressPolicy, type EgressPolicy } from '@relay/egress';
import type { IngressConfig } from '@relay/settings';

/** Which endpoints may be registered and tested. */
export const policyOf = (config: IngressConfig): EgressPolicy =>
  egressPolicy({
    ports: config.EGRESS_PORTS,
    allowHttp: config.EGRESS_ALLOW_HTTP,
    allowCidrs: config.EGRESS_ALLOW_CIDRS,
    denyCidrs: config.EGRESS_DENY_CIDRS,
    nat64Prefix: config.EGRESS_NAT64_PREFIX,
  });
