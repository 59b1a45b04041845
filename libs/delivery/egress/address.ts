import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Cidr = readonly [Address, number];

/** The `EGRESS_*` variables: ports as digits, address ranges as `address/prefix`. */
interface EgressSettings {
  readonly ports: readonly string[];
  readonly allowHttp: boolean;
  readonly allowCidrs: readonly string[];
  readonly denyCidrs: readonly string[];
  /** NAT64 prefix of the network; empty if the network has no NAT64 or uses the well-known prefix. */
  readonly nat64Prefix?: string;
}

/** The settings after `egressPolicy` has checked and parsed them. */
export interface EgressPolicy {
  readonly ports: ReadonlySet<string>;
  readonly allowHttp: boolean;
  readonly allow: readonly Cidr[];
  readonly deny: readonly Cidr[];
  readonly nat64: readonly Embedding[];
}

/** @throws RangeError that names an invalid entry by its position and never repeats its value */
export function egressPolicy(settings: EgressSettings): EgressPolicy {
  return {
    ports: new Set(settings.ports.map(port)),
    allowHttp: settings.allowHttp,
    allow: settings.allowCidrs.map(cidr),
    deny: settings.denyCidrs.map(cidr),
    nat64: [WELL_KNOWN, ...(settings.nat64Prefix ? [nat64Prefix(settings.nat64Prefix)] : [])],
  };
}

// Ranges that ipaddr.js regards as unicast although no endpoint can have an address there.
const DENIED: readonly Cidr[] = [
  '168.63.129.16/32', // Azure's platform services, which every virtual machine on Azure can reach
  '2001::/23', // RFC 2928: Teredo, ORCHID, benchmarking and later assignments of the IETF
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
].map(cidr);

// RFC 4291 section 2.4 and the IANA registry: only this range is assigned as global unicast. All other IPv6 addresses are
// denied, including those that embed an IPv4 address (mapped, compatible). NAT64 addresses are the only exception: their
// embedded IPv4 address is checked instead.
const GLOBAL_UNICAST = cidr('2000::/3');

/**
 * Returns whether the policy permits a connection to this address. The denied ranges of the policy are checked first, then
 * the ranges that it opens, then whether the address is public. Only canonical text is accepted: dotted decimal for IPv4,
 * and RFC 4291 text without a zone for IPv6.
 *
 * A packet to a NAT64 address (RFC 6052) goes to the IPv4 address that is embedded in it, so the embedded address is
 * checked. In an IPv6-only network, DNS64 (RFC 6147) returns a NAT64 address for every name without IPv6. Therefore opening
 * an IPv6 range never opens an IPv4 address.
 */
export function isPublicAddress(address: string, policy: EgressPolicy): boolean {
  const target = targetOf(address, policy);
  if (target === undefined) return false;
  if (isWithin(target, policy.allow) && isNowhereElse(target, policy)) return true;
  if (target.range() !== 'unicast' || isWithin(target, DENIED)) return false;
  return target.kind() === 'ipv4' || isWithin(target, [GLOBAL_UNICAST]);
}

/** Returns whether `EGRESS_ALLOW_CIDRS` opens this address. */
export function isOpened(address: string, policy: EgressPolicy): boolean {
  const target = targetOf(address, policy);
  return target !== undefined && isWithin(target, policy.allow) && isNowhereElse(target, policy);
}

/** Returns the loopback addresses that the policy opens. RFC 6761 section 6.3 allows no other addresses for `localhost`. */
export function openedLoopbacks(policy: EgressPolicy): readonly string[] {
  return ['127.0.0.1', '::1'].filter((address) => isPublicAddress(address, policy));
}

/** Returns the address to which a packet to `text` is finally sent; undefined if the address is invalid or denied. */
function targetOf(text: string, { deny, nat64 }: EgressPolicy): Address | undefined {
  if (isIP(text) === 0 || text.includes('%')) return undefined;
  const address = ipaddr.parse(text);
  if (isWithin(address, deny)) return undefined;
  const within = address instanceof ipaddr.IPv6 ? translated(address, nat64) : undefined;
  if (within === undefined) return address;
  return within === 'malformed' || isWithin(within, deny) ? undefined : within;
}

/** Returns whether the address embeds no forbidden IPv4 address. For example, 6to4 and Teredo addresses embed one. */
function isNowhereElse(address: Address, policy: EgressPolicy): boolean {
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

/** A network whose IPv6 addresses embed an IPv4 address right after the first `bits` bits. */
interface Embedding {
  readonly network: ipaddr.IPv6;
  readonly bits: number;
}

/** RFC 6052 section 2.2: byte 8 of the address is always zero, so the bytes of the IPv4 address skip it. */
const NULL_BYTE = 8;
const LENGTHS: readonly number[] = [32, 40, 48, 56, 64, 96];

/** RFC 6052 section 2.1: the default prefix of DNS64 (RFC 6147). */
const WELL_KNOWN: Embedding = { network: ipaddr.IPv6.parse('64:ff9b::'), bits: 96 };

/** @throws RangeError if RFC 6052 does not allow the prefix */
function nat64Prefix(text: string): Embedding {
  const [address = '', bits = ''] = text.split('/');
  const network = ipaddr.IPv6.isValid(address) && !address.includes('%') ? ipaddr.IPv6.parse(address) : undefined;
  if (network === undefined || !LENGTHS.map(String).includes(bits))
    throw new RangeError(`it is no NAT64 prefix such as 2001:db8:64::/96 (its length is one of ${LENGTHS.join(', ')})`);
  const bytes = network.toByteArray();
  if (bytes.some((byte, at) => byte !== 0 && (at === NULL_BYTE || at * 8 >= Number(bits))))
    throw new RangeError(`it is no NAT64 prefix: bits 64 to 71, and those behind its length, must be zero (RFC 6052)`);
  return { network, bits: Number(bits) };
}

/** Returns the IPv4 address to which a NAT64 translator sends packets for `address`; undefined if no network contains it. */
function translated(address: ipaddr.IPv6, embeddings: readonly Embedding[]): ipaddr.IPv4 | 'malformed' | undefined {
  const found = embeddings.find(({ network, bits }) => address.match(network, bits));
  if (found === undefined) return undefined;
  const bytes = address.toByteArray();
  if (bytes[NULL_BYTE] !== 0) return 'malformed';
  const from = found.bits / 8;
  const four = bytes.filter((_, at) => at >= from && at !== NULL_BYTE).slice(0, 4);
  return new ipaddr.IPv4(four);
}

/** Other networks that embed an IPv4 address: the index of its first byte, and whether its bits are inverted. */
const OTHERS: readonly (readonly [network: ipaddr.IPv6, bits: number, at: number | undefined, isInverted: boolean])[] =
  [
    [ipaddr.IPv6.parse('::ffff:0:0'), 96, 12, false], // RFC 4291 mapped
    [ipaddr.IPv6.parse('::ffff:0:0:0'), 96, 12, false], // RFC 2765 translated
    [ipaddr.IPv6.parse('2002::'), 16, 2, false], // RFC 3056 6to4
    [ipaddr.IPv6.parse('2001::'), 32, 12, true], // RFC 4380 Teredo
    [ipaddr.IPv6.parse('64:ff9b:1::'), 48, undefined, false], // RFC 8215: only the operator knows the position
  ];
const COMPATIBLE = ipaddr.IPv6.parse('::');

/** Returns the IPv4 address that is embedded in one of these networks; 'unknown' if its position is unknown. */
function embedded(address: ipaddr.IPv6): ipaddr.IPv4 | 'unknown' | undefined {
  const bytes = address.toByteArray();
  const found = OTHERS.find(([network, bits]) => address.match(network, bits));
  if (found !== undefined) {
    const [, , at, isInverted] = found;
    if (at === undefined) return 'unknown';
    return new ipaddr.IPv4(bytes.slice(at, at + 4).map((byte) => (isInverted ? byte ^ 0xff : byte)));
  }
  // RFC 4291 compatible, except `::` and `::1`.
  const isCompatible = address.match(COMPATIBLE, 96) && bytes.slice(12, 15).some((byte) => byte !== 0);
  return isCompatible ? new ipaddr.IPv4(bytes.slice(12)) : undefined;
}

const TRANSLATED = ipaddr.parseCIDR('64:ff9b::/47');

/** Returns whether a range lies in the address space that RFC 6052 and RFC 8215 reserve for translation. */
function isNat64(range: string): boolean {
  const [network, bits] = ipaddr.parseCIDR(range);
  return bits >= TRANSLATED[1] && network.kind() === 'ipv6' && network.match(TRANSLATED);
}

/** The environment variables that allow destinations which are refused by default. They are for development only. */
export interface OpeningSettings {
  readonly EGRESS_ALLOW_HTTP: boolean;
  readonly EGRESS_ALLOW_CIDRS: readonly string[];
}

/**
 * Returns a warning for each variable that opens destinations which are closed by default. A process logs the warnings when
 * it starts.
 */
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
