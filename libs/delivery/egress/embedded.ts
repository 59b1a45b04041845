import ipaddr from 'ipaddr.js';

/** A network whose IPv6 addresses embed IPv4 addresses, and the index of the first of these four bytes. */
export interface Embedding {
  readonly network: ipaddr.IPv6;
  readonly bits: number;
}

/** RFC 6052 section 2.2: byte 8 is zero under every prefix, so the IPv4 address skips it. */
const NULL_BYTE = 8;
const LENGTHS: readonly number[] = [32, 40, 48, 56, 64, 96];

/** RFC 6052 section 2.1: the default prefix of DNS64 (RFC 6147). */
export const WELL_KNOWN: Embedding = { network: ipaddr.IPv6.parse('64:ff9b::'), bits: 96 };

/** @throws RangeError for a prefix that RFC 6052 does not allow */
export function nat64Prefix(text: string): Embedding {
  const [address = '', bits = ''] = text.split('/');
  const network = ipaddr.IPv6.isValid(address) && !address.includes('%') ? ipaddr.IPv6.parse(address) : undefined;
  if (network === undefined || !LENGTHS.map(String).includes(bits))
    throw new RangeError(`it is no NAT64 prefix such as 2001:db8:64::/96 (its length is one of ${LENGTHS.join(', ')})`);
  const bytes = network.toByteArray();
  if (bytes.some((byte, at) => byte !== 0 && (at === NULL_BYTE || at * 8 >= Number(bits))))
    throw new RangeError(`it is no NAT64 prefix: bits 64 to 71, and those behind its length, must be zero (RFC 6052)`);
  return { network, bits: Number(bits) };
}

/** Returns the IPv4 address to which a translator sends for this one; undefined outside the networks. */
export function translated(
  address: ipaddr.IPv6,
  embeddings: readonly Embedding[],
): ipaddr.IPv4 | 'malformed' | undefined {
  const found = embeddings.find(({ network, bits }) => address.match(network, bits));
  if (found === undefined) return undefined;
  const bytes = address.toByteArray();
  if (bytes[NULL_BYTE] !== 0) return 'malformed';
  const from = found.bits / 8;
  const four = bytes.filter((_, at) => at >= from && at !== NULL_BYTE).slice(0, 4);
  return new ipaddr.IPv4(four);
}

/** Other embeddings of an IPv4 address: the index of its first byte, and whether its bits are inverted. */
const OTHERS: readonly (readonly [network: ipaddr.IPv6, bits: number, at: number | undefined, isInverted: boolean])[] =
  [
    [ipaddr.IPv6.parse('::ffff:0:0'), 96, 12, false], // RFC 4291 mapped
    [ipaddr.IPv6.parse('::ffff:0:0:0'), 96, 12, false], // RFC 2765 translated
    [ipaddr.IPv6.parse('2002::'), 16, 2, false], // RFC 3056 6to4
    [ipaddr.IPv6.parse('2001::'), 32, 12, true], // RFC 4380 Teredo
    [ipaddr.IPv6.parse('64:ff9b:1::'), 48, undefined, false], // RFC 8215: only the operator knows where
  ];
const COMPATIBLE = ipaddr.IPv6.parse('::');

/** Returns the IPv4 address in one of these embeddings; 'unknown' if its position is unknown. */
export function embedded(address: ipaddr.IPv6): ipaddr.IPv4 | 'unknown' | undefined {
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
