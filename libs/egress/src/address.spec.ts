import { isIPv6 } from 'node:net';
import { check, ipV4, ipV6, pre, property, uint8Array, type Arbitrary } from 'fast-check';
import ipaddr from 'ipaddr.js';
import { egressPolicy, isOpened, isPublicAddress, openedLoopbacks } from './address.js';
import { IPV4_SPECIAL, IPV6_SPECIAL, OTHER_FORBIDDEN } from './spec-iana.js';

const closed = { ports: ['443', '8443'], allowHttp: false, allowCidrs: [], denyCidrs: [] };
const policy = egressPolicy(closed);

const words = (text: string): string[] => text.trim().split(/\s+/);

const FORBIDDEN_BLOCKS = [...IPV4_SPECIAL, ...IPV6_SPECIAL, ...OTHER_FORBIDDEN].map(
  ([block, reason]) => [block, reason] as const,
);
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
  ])('takes %j for no address', (text) => {
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

describe('egressPolicy', () => {
  it.each(['127.0.0.1', '127.1/8', '10.0.0.0/33', '::/129', 'fe80::1%eth0/64', 'local/8', '10.0.0.0/', '10.0.0.0/-1'])(
    'refuses %j as a range',
    (range) => {
      expect(() => egressPolicy({ ...closed, allowCidrs: [range] })).toThrow(RangeError);
      expect(() => egressPolicy({ ...closed, denyCidrs: [range] })).toThrow(range);
    },
  );

  it.each(['0', '65536', '-1', '44e1', '', ' 443'])('refuses %j as a port', (port) => {
    expect(() => egressPolicy({ ...closed, ports: [port] })).toThrow(RangeError);
  });
});
