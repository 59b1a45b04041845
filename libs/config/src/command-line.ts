import { egressEnv, webhooksEnv } from '@relay/config';

const { EGRESS_PORTS, EGRESS_ALLOW_HTTP, EGRESS_ALLOW_CIDRS, EGRESS_DENY_CIDRS, EGRESS_NAT64_PREFIX } = egressEnv;

/** What `relay listen` reads beside the stores: whether the worker may deliver to this machine. */
export const listenEnv = {
  ...webhooksEnv,
  EGRESS_PORTS,
  EGRESS_ALLOW_HTTP,
  EGRESS_ALLOW_CIDRS,
  EGRESS_DENY_CIDRS,
  EGRESS_NAT64_PREFIX,
};
