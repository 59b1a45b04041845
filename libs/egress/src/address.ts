import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Cidr = readonly [Address, number];

/** The `EGRESS_*` variables as they are read: ports as digits, ranges as `address/prefix`. */
export interface EgressSettings {
  readonly ports: readonly string[];
  readonly allowHttp: boolean;
  readonly allowCidrs: readonly string[];
  readonly denyCidrs: readonly string[];
}

/** The settings checked and parsed once; see `egressPolicy`. */
export interface EgressPolicy {
  readonly ports: ReadonlySet<string>;
  readonly allowHttp: boolean;
  readonly allow: readonly Cidr[];
  readonly deny: readonly Cidr[];
}

/** @throws RangeError naming the port or range that cannot be read */
export function egressPolicy(settings: EgressSettings): EgressPolicy {
  return {
    ports: new Set(settings.ports.map(port)),
    allowHttp: settings.allowHttp,
    allow: settings.allowCidrs.map(cidr),
    deny: settings.denyCidrs.map(cidr),
  };
}

// What ipaddr.js calls unicast although nobody's endpoint lives there.
const DENIED: readonly Cidr[] = [
  '168.63.129.16/32', // Azure's platform services: answers inside every virtual machine there
  '2001::/23', // RFC 2928: Teredo, ORCHID, benchmarking and whatever the IETF puts there next
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
].map(cidr);

// RFC 4291 section 2.4 and the IANA registry: the only space handed out as global unicast. All other IPv6 is denied,
// and with it every way to embed an IPv4 address (mapped, compatible, NAT64) without decoding any of them.
const GLOBAL_UNICAST = cidr('2000::/3');

/**
 * Whether a connection to this address is permitted. The policy's own denied ranges come first, then its opened ranges,
 * then what is public. Only canonical notations are addresses here: dotted decimal, and RFC 4291 text without a zone.
 */
export function isPublicAddress(address: string, policy: Pick<EgressPolicy, 'allow' | 'deny'>): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.parse(address);
  if (isWithin(parsed, policy.deny)) return false;
  if (isWithin(parsed, policy.allow)) return true;
  if (parsed.range() !== 'unicast' || isWithin(parsed, DENIED)) return false;
  return parsed.kind() === 'ipv4' || isWithin(parsed, [GLOBAL_UNICAST]);
}

/** Whether the policy opens this address although it is not public. */
export function isOpened(address: string, policy: Pick<EgressPolicy, 'allow' | 'deny'>): boolean {
  return isIP(address) !== 0 && isWithin(ipaddr.parse(address), policy.allow) && isPublicAddress(address, policy);
}

/** The loopback addresses that the policy opens; RFC 6761 section 6.3 lets `localhost` mean these and nothing else. */
export function openedLoopbacks(policy: Pick<EgressPolicy, 'allow' | 'deny'>): readonly string[] {
  return ['127.0.0.1', '::1'].filter((address) => isPublicAddress(address, policy));
}

function isWithin(address: Address, ranges: readonly Cidr[]): boolean {
  return ranges.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}

function cidr(text: string): Cidr {
  const [address = '', bits = ''] = text.split('/');
  const width = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > width || text.includes('%'))
    throw new RangeError(`${text} is not an address range such as 10.0.0.0/8`);
  return [ipaddr.parse(address), Number(bits)];
}

function port(text: string): string {
  if (!/^[1-9]\d{0,4}$/.test(text) || Number(text) > 65_535) throw new RangeError(`${text} is not a port number`);
  return text;
}
