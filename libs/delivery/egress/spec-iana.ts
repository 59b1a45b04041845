// The special-purpose registries of IANA (https://www.iana.org/assignments/iana-ipv4-special-registry and
// iana-ipv6-special-registry), made by RFC 6890 and RFC 8190 and extended since: every block with the RFC that made it.
// `true` marks what IANA calls globally reachable: translation prefixes and anycast services of the network itself, where
// no partner's endpoint lives, so they are refused like the others.

export const IPV4_SPECIAL: readonly (readonly [block: string, reason: string, isGlobal: boolean])[] = [
  ['0.0.0.0/8', 'RFC 791 this network', false],
  ['0.0.0.0/32', 'RFC 1122 this host', false],
  ['10.0.0.0/8', 'RFC 1918 private use', false],
  ['100.64.0.0/10', 'RFC 6598 shared address space', false],
  ['127.0.0.0/8', 'RFC 1122 loopback', false],
  ['169.254.0.0/16', 'RFC 3927 link local', false],
  ['172.16.0.0/12', 'RFC 1918 private use', false],
  ['192.0.0.0/24', 'RFC 6890 IETF protocol assignments', false],
  ['192.0.0.0/29', 'RFC 7335 IPv4 service continuity', false],
  ['192.0.0.8/32', 'RFC 7600 IPv4 dummy address', false],
  ['192.0.0.9/32', 'RFC 7723 port control protocol anycast', true],
  ['192.0.0.10/32', 'RFC 8155 TURN anycast', true],
  ['192.0.0.170/32', 'RFC 8880 NAT64 discovery', false],
  ['192.0.0.171/32', 'RFC 8880 NAT64 discovery', false],
  ['192.0.2.0/24', 'RFC 5737 documentation', false],
  ['192.31.196.0/24', 'RFC 7535 AS112-v4', true],
  ['192.52.193.0/24', 'RFC 7450 AMT', true],
  ['192.88.99.0/24', 'RFC 7526 deprecated 6to4 relay anycast', false],
  ['192.168.0.0/16', 'RFC 1918 private use', false],
  ['192.175.48.0/24', 'RFC 7534 direct delegation AS112', true],
  ['198.18.0.0/15', 'RFC 2544 benchmarking', false],
  ['198.51.100.0/24', 'RFC 5737 documentation', false],
  ['203.0.113.0/24', 'RFC 5737 documentation', false],
  ['240.0.0.0/4', 'RFC 1112 reserved', false],
  ['255.255.255.255/32', 'RFC 8190 limited broadcast', false],
];

export const IPV6_SPECIAL: readonly (readonly [block: string, reason: string, isGlobal: boolean])[] = [
  ['::1/128', 'RFC 4291 loopback', false],
  ['::/128', 'RFC 4291 unspecified', false],
  ['::ffff:0:0/96', 'RFC 4291 IPv4-mapped', false],
  ['64:ff9b::/96', 'RFC 6052 IPv4-IPv6 translation', true],
  ['64:ff9b:1::/48', 'RFC 8215 local IPv4-IPv6 translation', false],
  ['100::/64', 'RFC 6666 discard only', false],
  ['100:0:0:1::/64', 'RFC 9780 dummy prefix', false],
  ['2001::/23', 'RFC 2928 IETF protocol assignments', false],
  ['2001::/32', 'RFC 4380 Teredo', false],
  ['2001:1::1/128', 'RFC 7723 port control protocol anycast', true],
  ['2001:1::2/128', 'RFC 8155 TURN anycast', true],
  ['2001:1::3/128', 'RFC 9665 DNS-SD service registration anycast', true],
  ['2001:2::/48', 'RFC 5180 benchmarking', false],
  ['2001:3::/32', 'RFC 7450 AMT', true],
  ['2001:4:112::/48', 'RFC 7535 AS112-v6', true],
  ['2001:10::/28', 'RFC 4843 deprecated ORCHID', false],
  ['2001:20::/28', 'RFC 7343 ORCHIDv2', true],
  ['2001:30::/28', 'RFC 9374 drone remote id', true],
  ['2001:db8::/32', 'RFC 3849 documentation', false],
  ['2002::/16', 'RFC 3056 6to4', false],
  ['2620:4f:8000::/48', 'RFC 7534 direct delegation AS112', true],
  ['3fff::/20', 'RFC 9637 documentation', false],
  ['5f00::/16', 'RFC 9602 segment routing SIDs', false],
  ['fc00::/7', 'RFC 4193 unique local', false],
  ['fe80::/10', 'RFC 4291 link-local unicast', false],
];

/** Not in the registries but nobody's endpoint either. */
export const OTHER_FORBIDDEN: readonly (readonly [block: string, reason: string])[] = [
  ['224.0.0.0/4', 'RFC 5771 multicast'],
  ['168.63.129.16/32', "Azure's platform services"],
  ['::/96', 'RFC 4291 deprecated IPv4-compatible'],
  ['::ffff:0:0:0/96', 'RFC 2765 IPv4-translated'],
  ['fec0::/10', 'RFC 3879 deprecated site local'],
  ['ff00::/8', 'RFC 4291 multicast'],
  ['fd00:ec2::254/128', "AWS's metadata service"],
  ['fd20:ce::254/128', "Google Cloud's metadata service"],
  ['4000::/2', 'RFC 4291 unassigned'],
  ['8000::/1', 'RFC 4291 unassigned'],
];
