import ipaddr from 'ipaddr.js';

const TRANSLATED = ipaddr.parseCIDR('64:ff9b::/47');

/** Whether a range lies in the space that RFC 6052 and RFC 8215 reserve for translation. */
function isNat64(range: string): boolean {
  const [network, bits] = ipaddr.parseCIDR(range);
  return bits >= TRANSLATED[1] && network.kind() === 'ipv6' && network.match(TRANSLATED);
}

/** The variables that open the egress for development. */
export interface OpeningSettings {
  readonly EGRESS_ALLOW_HTTP: boolean;
  readonly EGRESS_ALLOW_CIDRS: readonly string[];
}

/** A warning for each variable that opens destinations closed by default; a process logs them at its start. */
export function egressOpenings({ EGRESS_ALLOW_HTTP, EGRESS_ALLOW_CIDRS }: OpeningSettings): string[] {
  return [
    ...(EGRESS_ALLOW_HTTP
      ? ['EGRESS_ALLOW_HTTP=true: credentials and payloads may be sent unencrypted; for development only']
      : []),
    ...(EGRESS_ALLOW_CIDRS.length > 0
      ? [
          `EGRESS_ALLOW_CIDRS=${EGRESS_ALLOW_CIDRS.join(',')}: endpoints may reach these addresses; for development only`,
          ...EGRESS_ALLOW_CIDRS.filter(isNat64).map(
            (range) =>
              `EGRESS_ALLOW_CIDRS=${range} opens nothing: NAT64 addresses are judged by the IPv4 address within; name a prefix other than 64:ff9b::/96 in EGRESS_NAT64_PREFIX`,
          ),
        ]
      : []),
  ];
}
