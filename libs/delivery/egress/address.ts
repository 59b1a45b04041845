import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { embedded, nat64Prefix, translated, WELL_KNOWN, type Embedding } from './embedded.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Cidr = readonly [Address, number];

/** The `EGRESS_*` variables: ports as digits, ranges as `address/prefix`. */
export interface EgressSettings {
  readonly ports: readonly string[];
  readonly allowHttp: boolean;
  readonly allowCidrs: readonly string[];
  readonly denyCidrs: readonly string[];
  /** The network's own NAT64 prefix; empty when it has none or the well-known one. */
  readonly nat64Prefix?: string;
}

/** The settings checked and parsed once; see `egressPolicy`. */
export interface EgressPolicy {
  readonly ports: ReadonlySet<string>;
  readonly allowHttp: boolean;
  readonly allow: readonly Cidr[];
  readonly deny: readonly Cidr[];
  readonly nat64: readonly Embedding[];
}

/** The rules by which addresses are checked. */
export type AddressPolicy = Pick<EgressPolicy, 'allow' | 'deny' | 'nat64'>;

/** @throws RangeError that names an unreadable entry by its position, never its value */
export function egressPolicy(settings: EgressSettings): EgressPolicy {
  return {
    ports: new Set(settings.ports.map(port)),
    allowHttp: settings.allowHttp,
    allow: settings.allowCidrs.map(cidr),
    deny: settings.denyCidrs.map(cidr),
    nat64: [WELL_KNOWN, ...(settings.nat64Prefix ? [nat64Prefix(settings.nat64Prefix)] : [])],
  };
}

// Ranges that ipaddr.js calls unicast although no endpoint has an address there.
const DENIED: readonly Cidr[] = [
  '168.63.129.16/32', // Azure's platform services: answers inside every virtual machine there
  '2001::/23', // RFC 2928: Teredo, ORCHID, benchmarking and whatever the IETF puts there next
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
].map(cidr);

// RFC 4291 section 2.4 and the IANA registry: the only space assigned as global unicast. All other IPv6 is denied, and with it
// every embedding of an IPv4 address (mapped, compatible) but NAT64, which is checked by the embedded address.
const GLOBAL_UNICAST = cidr('2000::/3');

/**
 * Returns whether the policy permits a connection to this address. Its denied ranges come first, then its opened ranges, then
 * the public addresses. Only canonical notations are addresses here: dotted decimal, and RFC 4291 text without a zone. A NAT64
 * address (RFC 6052) is checked by its embedded IPv4 address, to which the packet goes: in an IPv6-only network DNS64 (RFC 6147)
 * answers a NAT64 address for every name without IPv6. So no opened IPv6 range opens an IPv4 address.
 */
export function isPublicAddress(address: string, policy: AddressPolicy): boolean {
  const target = targetOf(address, policy);
  if (target === undefined) return false;
  if (isWithin(target, policy.allow) && isNowhereElse(target, policy)) return true;
  if (target.range() !== 'unicast' || isWithin(target, DENIED)) return false;
  return target.kind() === 'ipv4' || isWithin(target, [GLOBAL_UNICAST]);
}

/** Returns whether the policy opens this address although it is not public. */
export function isOpened(address: string, policy: AddressPolicy): boolean {
  const target = targetOf(address, policy);
  return target !== undefined && isWithin(target, policy.allow) && isNowhereElse(target, policy);
}

/** Returns the loopback addresses that the policy opens; RFC 6761 section 6.3 lets `localhost` mean these and nothing else. */
export function openedLoopbacks(policy: AddressPolicy): readonly string[] {
  return ['127.0.0.1', '::1'].filter((address) => isPublicAddress(address, policy));
}

/** Returns the address at which a packet to this one arrives; undefined for an invalid or denied address. */
function targetOf(text: string, { deny, nat64 }: AddressPolicy): Address | undefined {
  if (isIP(text) === 0 || text.includes('%')) return undefined;
  const address = ipaddr.parse(text);
  if (isWithin(address, deny)) return undefined;
  const within = address instanceof ipaddr.IPv6 ? translated(address, nat64) : undefined;
  if (within === undefined) return address;
  return within === 'malformed' || isWithin(within, deny) ? undefined : within;
}

/** Returns whether an opened address embeds no forbidden IPv4 address, as 6to4 and Teredo can. */
function isNowhereElse(address: Address, policy: AddressPolicy): boolean {
  const within = address instanceof ipaddr.IPv6 ? embedded(address) : undefined;
  return within === undefined || (within !== 'unknown' && isPublicAddress(within.toString(), policy));
}

function isWithin(address: Address, ranges: readonly Cidr[]): boolean {
  return ranges.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}

function cidr(text: string, index = 0): Cidr {
  const [address = '', bits = ''] = text.split('/');
  const width = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > width || text.includes('%'))
    throw new RangeError(`entry ${index + 1} is not an address range such as 10.0.0.0/8`);
  return [ipaddr.parse(address), Number(bits)];
}

function port(text: string, index: number): string {
  if (!/^[1-9]\d{0,4}$/.test(text) || Number(text) > 65_535)
    throw new RangeError(`entry ${index + 1} is not a port number`);
  return text;
}
