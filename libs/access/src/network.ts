import ipaddr from 'ipaddr.js';

/** A network that a sender's address lies in. */
export interface Network {
  /** Unique over networks of all sizes. */
  readonly key: string;
  /** Its limit as a multiple of that of the smallest network. */
  readonly shares: number;
}

/** Some gateways write X-Forwarded-For with the port of each address; an IPv6 address has brackets then. */
const withoutPort = (address: string): string =>
  /^\[(?<six>[^\]]*)\](?::\d+)?$/.exec(address)?.groups?.['six'] ?? address.replace(/^([\d.]+):\d+$/, '$1');

/**
 * The networks that one sender can hardly change, the smallest first: an IPv4 address; of IPv6 the /64 of a host's addresses, and
 * the /56 and /48 that one customer or site may hold (RFC 6177).
 */
export function networksOf(sender: string): readonly [Network, ...Network[]] {
  const address = withoutPort(sender);
  if (!ipaddr.isValid(address)) return [{ key: 'unknown', shares: 1 }];
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return [{ key: parsed.toString(), shares: 1 }];
  const hex = Buffer.from(parsed.toByteArray()).toString('hex');
  return [
    { key: hex.slice(0, 16), shares: 1 },
    { key: hex.slice(0, 14), shares: 4 },
    { key: hex.slice(0, 12), shares: 16 },
  ];
}
