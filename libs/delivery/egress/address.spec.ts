import { isIPv6 } from 'node:net';
import { check, ipV4, ipV6, pre, property, uint8Array, type Arbitrary } from 'fast-check';
import ipaddr from 'ipaddr.js';
import { egressPolicy, isOpened, isPublicAddress, openedLoopbacks, egressOpenings } from './address.js';
import { IPV4_SPECIAL, IPV6_SPECIAL, OTHER_FORBIDDEN } from './spec-iana.js';

const closed = { ports: ['443', '8443'], allowHttp: false, allowCidrs: [], denyCidrs: [] };
const policy = egressPolicy(closed);

const words = (text: string): string[] => text.trim().split(/\s+/);

/** Judged by the IPv4 address within. */
const NAT64 = '64:ff9b::/96';
const FORBIDDEN_BLOCKS = [...IPV4_SPECIAL, ...IPV6_SPECIAL, ...OTHER_FORBIDDEN]
  .map(([block, reason]) => [block, reason] as const)
  .filter(([block]) => block !== NAT64);
const PUBLIC = words(`
  1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 172.15.255.255 172.32.0.0
  168.63.129.15 168.63.129.17 192.167.255.255 223.255.255.255 2000::1 2001:200::1 2003::1 2606:4700:4700::1111
  3ffe::1 3fff:1000::1
`);

const anyAddressWithin = (range: string): Arbitrary<string> => {
  const [network, bits] = ipaddr.parseCIDR(range);
  const bytes = network.toByteArray();
  return uint8Array({ minLength: bytes.length, maxLength: bytes.length }).map((random) =>
    ipaddr
      .fromByteArray(
        bytes.map((byte, index) => {
          const kept = Math.min(8, Math.max(0, bits - index * 8));
          const mask = (0xff << (8 - kept)) & 0xff;
          return (byte & mask) | ((random[index] ?? 0) & ~mask & 0xff);
        }),
      )
      .toString(),
  );
};

describe('isPublicAddress', () => {
  it.each(FORBIDDEN_BLOCKS)('refuses every address of %s (%s)', (range) => {
    const run = check(property(anyAddressWithin(range), (address) => !isPublicAddress(address, policy)));
    expect(run).toMatchObject({ failed: false });
  });

  it.each(PUBLIC)('permits the public address %s', (address) => {
    expect(isPublicAddress(address, policy)).toBe(true);
  });

  // The other way round: what is refused is in a registry, so no partner's endpoint is lost to a range drawn too wide.
  it('permits every IPv4 address that no registry names', () => {
    const special = [...IPV4_SPECIAL, ...OTHER_FORBIDDEN].map(([block]) => ipaddr.parseCIDR(block));
    const run = check(
      property(ipV4(), (address) => {
        const parsed = ipaddr.parse(address);
        pre(!special.some(([network, bits]) => network.kind() === 'ipv4' && parsed.match(network, bits)));
        return isPublicAddress(address, policy);
      }),
      { numRuns: 2_000 },
    );
    expect(run).toMatchObject({ failed: false });
  });

  it('permits no IPv6 outside 2000::/3', () => {
    const run = check(
      property(ipV6(), (address) => {
        pre(isIPv6(address) && (ipaddr.IPv6.parse(address).toByteArray()[0] ?? 0) >> 5 !== 1);
        pre(!ipaddr.parse(address).match(ipaddr.parseCIDR(NAT64)));
        return !isPublicAddress(address, policy);
      }),
    );
    expect(run).toMatchObject({ failed: false });
  });

  it.each([
    '',
    'example.com',
    '0x7f.1',
    '2130706433',
    '127.1',
    '017700000001',
    '1.1.1',
    '2606:4700::1%eth0',
    '1.1.1.1 ',
  ])('does not accept %j as an address', (text) => {
    expect(isPublicAddress(text, policy)).toBe(false);
  });

  it('opens allowed ranges, in their own family only, and lets a denied range win', () => {
    const opened = egressPolicy({
      ...closed,
      allowCidrs: ['127.0.0.0/8', '10.0.0.0/8'],
      denyCidrs: ['10.1.0.0/16', '1.1.1.0/24', '2606:4700::/32'],
    });
    expect(['127.0.0.1', '10.0.0.1', '1.1.2.1'].map((address) => isPublicAddress(address, opened))).not.toContain(
      false,
    );
    expect(
      ['10.1.0.1', '1.1.1.1', '2606:4700::1', '::ffff:127.0.0.1', '::1', '192.168.0.1'].filter((address) =>
        isPublicAddress(address, opened),
      ),
    ).toEqual([]);
    expect(['127.0.0.1', '10.1.0.1', '1.1.2.1'].map((address) => isOpened(address, opened))).toEqual([
      true,
      false,
      false,
    ]);
    expect(openedLoopbacks(opened)).toEqual(['127.0.0.1']);
    expect(openedLoopbacks(policy)).toEqual([]);
  });
});

describe('a NAT64 address', () => {
  const opened = (allowCidrs: string[], denyCidrs: string[] = [], nat64Prefix = '') =>
    egressPolicy({ ...closed, allowCidrs, denyCidrs, nat64Prefix });
  /** RFC 6052 section 2.4, with its own example: 192.0.2.33 under each length of prefix. */
  const EXAMPLES = [
    ['2001:db8::/32', '2001:db8:c000:221::'],
    ['2001:db8:100::/40', '2001:db8:1c0:2:21::'],
    ['2001:db8:122::/48', '2001:db8:122:c000:2:2100::'],
    ['2001:db8:122:300::/56', '2001:db8:122:3c0:0:221::'],
    ['2001:db8:122:344::/64', '2001:db8:122:344:c0:2:2100::'],
    ['2001:db8:122:344::/96', '2001:db8:122:344::c000:221'],
  ] as const;
  const within = (prefix: string, inner: string): string => {
    const [network, bits] = ipaddr.parseCIDR(prefix);
    const bytes = network.toByteArray();
    const free = [...bytes.keys()].filter((at) => at >= bits / 8 && at !== 8);
    for (const [index, byte] of ipaddr.parse(inner).toByteArray().entries()) bytes[free[index] ?? 0] = byte;
    return ipaddr.fromByteArray(bytes).toString();
  };

  it.each([
    ['64:ff9b::c000:2008', true], // 192.0.32.8
    ['64:ff9b::8.8.8.8', true],
    ['64:ff9b::a9fe:a9fe', false], // 169.254.169.254
    ['64:ff9b::7f00:1', false],
    ['64:ff9b::10.0.0.1', false],
    ['64:ff9b::168.63.129.16', false],
    ['64:ff9b::1:808:808', false], // beyond the prefix
    ['64:ff9b:1::808:808', false], // RFC 8215, and not configured
    ['64:ff9b:1:808:8:800::', false],
  ])('%s is checked by its IPv4 address: %s', (address, expected) => {
    expect(isPublicAddress(address, policy)).toBe(expected);
  });

  it.each(EXAMPLES)('under %s is read as in RFC 6052', (prefix, example) => {
    expect(within(prefix, '192.0.2.33')).toBe(ipaddr.parse(example).toString());
    const configured = opened([], [], prefix);
    expect(isPublicAddress(example, configured)).toBe(false); // documentation
    expect(isPublicAddress(within(prefix, '192.0.32.8'), configured)).toBe(true);
    expect(isPublicAddress(within(prefix, '169.254.169.254'), configured)).toBe(false);
    // The inner one is asked, so what opens it does.
    expect(isPublicAddress(example, opened(['192.0.2.0/24'], [], prefix))).toBe(true);
    expect(isOpened(example, opened(['192.0.2.0/24'], [], prefix))).toBe(true);
  });

  it('stands for the same address, public or not, under every prefix', () => {
    const run = check(
      property(ipV4(), (inner) =>
        ['64:ff9b::/96', '64:ff9b:1:7::/96', ...EXAMPLES.map(([prefix]) => prefix)].every((prefix) => {
          const judged = opened(['10.7.0.0/16'], ['1.1.1.0/24'], prefix === '64:ff9b::/96' ? '' : prefix);
          return isPublicAddress(within(prefix, inner), judged) === isPublicAddress(inner, judged);
        }),
      ),
      { numRuns: 1_000 },
    );
    expect(run).toMatchObject({ failed: false });
  });

  it.each([
    [['64:ff9b::/96'], ''],
    [['64:ff9b::a9fe:a9fe/128'], ''],
    [['::/0'], ''],
    [['64:ff9b:1::/48'], ''],
    [['2000::/3', '64::/16', '2001:db8::/32'], '2001:db8:122:344::/64'],
    [['::/0'], '64:ff9b:1::/48'],
    [['2002::/16', '2001::/32', '::/1', '::ffff:0:0/96'], ''],
  ])('is not opened by EGRESS_ALLOW_CIDRS=%j while its IPv4 address is closed', (allowCidrs, prefix) => {
    const judged = opened([...allowCidrs], [], prefix);
    const ways = words(`
      64:ff9b::a9fe:a9fe 64:ff9b::7f00:1 64:ff9b:1::a9fe:a9fe 64:ff9b:1:a9fe:a9:fe00:: 2001:db8:122:344:a9:fea9:fe00::
      ::ffff:169.254.169.254 ::169.254.169.254 ::ffff:0:169.254.169.254 2002:a9fe:a9fe:: 2001:0:4136:e378:8000:63bf:5601:5601
    `);
    const prefixed = prefix === '2001:db8:122:344::/64';
    const closedWays = ways.filter((way) => prefixed || !way.startsWith('2001:db8'));
    expect(closedWays.filter((way) => isPublicAddress(way, judged) || isOpened(way, judged))).toEqual([]);
  });

  it('is closed by a denied range of either family', () => {
    expect(isPublicAddress('64:ff9b::1.1.1.1', opened(['1.1.1.1/32'], ['1.1.1.0/24']))).toBe(false);
    expect(isPublicAddress('64:ff9b::1.1.1.1', opened([], ['64:ff9b::/96']))).toBe(false);
    expect(isPublicAddress('64:ff9b::1.1.2.1', opened([], ['1.1.1.0/24']))).toBe(true);
  });

  it('is invalid when bits 64 to 71 are not zero', () => {
    const judged = opened([], [], '2001:db8:122:344::/64');
    expect(isPublicAddress('2001:db8:122:344:1c0:20:800::', judged)).toBe(false);
    expect(isPublicAddress('2001:db8:122:344:c0:20:800::', judged)).toBe(true);
  });
});

describe('egressPolicy', () => {
  it.each(['127.0.0.1', '127.1/8', '10.0.0.0/33', '::/129', 'fe80::1%eth0/64', 'local/8', '10.0.0.0/', '10.0.0.0/-1'])(
    'refuses %j as a range',
    (range) => {
      expect(() => egressPolicy({ ...closed, allowCidrs: [range] })).toThrow(RangeError);
      expect(() => egressPolicy({ ...closed, denyCidrs: ['10.0.0.0/8', range] })).toThrow('entry 2 is not');
    },
  );

  it.each(['0', '65536', '-1', '44e1', '', ' 443'])('refuses %j as a port', (port) => {
    expect(() => egressPolicy({ ...closed, ports: [port] })).toThrow(RangeError);
  });

  it.each(['64:ff9b::', '64:ff9b::/95', '10.0.0.0/8', '2001:db8::1/96', '2001:db8:0:0:100::/96', 'x/96', '::1%lo/96'])(
    'refuses %j as a prefix of NAT64',
    (prefix) => {
      expect(() => egressPolicy({ ...closed, nat64Prefix: prefix })).toThrow('is no NAT64 prefix');
    },
  );
});

describe('egress openings', () => {
  it('are empty for closed defaults', () => {
    expect(egressOpenings({ EGRESS_ALLOW_HTTP: false, EGRESS_ALLOW_CIDRS: [] })).toEqual([]);
  });

  it('name each variable that opens a destination', () => {
    expect(egressOpenings({ EGRESS_ALLOW_HTTP: true, EGRESS_ALLOW_CIDRS: ['127.0.0.0/8'] })).toEqual([
      expect.stringContaining('EGRESS_ALLOW_HTTP=true'),
      expect.stringContaining('EGRESS_ALLOW_CIDRS=127.0.0.0/8'),
    ]);
  });

  it('warn that a NAT64 range opens nothing, and name the variable to set instead', () => {
    const EGRESS_ALLOW_CIDRS = ['64:ff9b:1::/48', 'fd00::/8', '::/0'];
    expect(egressOpenings({ EGRESS_ALLOW_HTTP: false, EGRESS_ALLOW_CIDRS })).toEqual([
      expect.stringContaining('64:ff9b:1::/48,fd00::/8,::/0: endpoints may reach'),
      expect.stringMatching(/^EGRESS_ALLOW_CIDRS=64:ff9b:1::\/48 opens nothing.*EGRESS_NAT64_PREFIX/),
    ]);
  });
});
