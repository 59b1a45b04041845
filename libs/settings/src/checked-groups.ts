import { parseSigningKeys } from '@relay/access';
import { egressEnv, keyringEnv, readableBy, tokenEnv } from '@relay/config';
import { egressPolicy } from '@relay/egress';
import { Keyring } from '@relay/keyring';

// Groups of @relay/config whose values other libs can read, so that a process reports a wrong one at its start.

const NO_EGRESS = { ports: [], allowHttp: false, allowCidrs: [], denyCidrs: [] };
const cidrs = (allowCidrs: readonly string[]): unknown => egressPolicy({ ...NO_EGRESS, allowCidrs });

export const checkedKeyringEnv = {
  ENCRYPTION_KEYS: keyringEnv.ENCRYPTION_KEYS.superRefine(readableBy((text: string) => Keyring.parse(text))),
};

export const checkedTokenEnv = {
  ...tokenEnv,
  JWT_PRIVATE_KEYS: tokenEnv.JWT_PRIVATE_KEYS.superRefine(readableBy(parseSigningKeys)),
  // The relay appends a path to build its other addresses.
  PUBLIC_URL: tokenEnv.PUBLIC_URL.transform((url) => url.replace(/\/+$/, '')),
};

/** What decides whether the worker delivers to an address. */
export const checkedDestinationEnv = {
  EGRESS_ALLOW_HTTP: egressEnv.EGRESS_ALLOW_HTTP,
  EGRESS_PORTS: egressEnv.EGRESS_PORTS.superRefine(readableBy((ports) => egressPolicy({ ...NO_EGRESS, ports }))),
  EGRESS_ALLOW_CIDRS: egressEnv.EGRESS_ALLOW_CIDRS.superRefine(readableBy(cidrs)),
  EGRESS_DENY_CIDRS: egressEnv.EGRESS_DENY_CIDRS.superRefine(readableBy(cidrs)),
  EGRESS_NAT64_PREFIX: egressEnv.EGRESS_NAT64_PREFIX.superRefine(
    readableBy((nat64Prefix: string) => egressPolicy({ ...NO_EGRESS, nat64Prefix })),
  ),
};

export const checkedEgressEnv = { ...egressEnv, ...checkedDestinationEnv };
