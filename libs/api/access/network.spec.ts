import { networksOf } from './failure-limiter.adapter.js';

const keysOf = (address: string): string[] => networksOf(address).map(({ key }) => key);

describe('networksOf', () => {
  it.each([
    ['198.51.100.7', ['198.51.100.7']],
    ['::ffff:198.51.100.7', ['198.51.100.7']],
    ['2001:db8:1:2:3::1', keysOf('2001:db8:1:2:ffff::')],
    ['nonsense', ['unknown']],
    // As Azure's Application Gateway writes X-Forwarded-For.
    ['198.51.100.7:54321', ['198.51.100.7']],
    ['[2001:db8:1:2:3::1]:54321', keysOf('2001:db8:1:2:ffff::')],
    ['[2001:db8:1:2:3::1]', keysOf('2001:db8:1:2:ffff::')],
    ['198.51.100.7:nonsense', ['unknown']],
  ])('gives %s the keys %j', (address, networks) => {
    expect(keysOf(address)).toEqual(networks);
  });

  it.each([
    ['/64', '2001:db8:1:2::1', '2001:db8:1:2:ffff::', 3],
    ['/56', '2001:db8:1:2::1', '2001:db8:1:3::1', 2],
    ['/48', '2001:db8:1:2::1', '2001:db8:1:ff02::1', 1],
    ['/47', '2001:db8:1:2::1', '2001:db8:2:2::1', 0],
  ])('has addresses of one %s share the networks around them', (_size, one, other, shared) => {
    expect(keysOf(one).filter((key) => keysOf(other).includes(key))).toHaveLength(shared);
  });

  it('allows more to a larger network', () => {
    expect(networksOf('2001:db8::1').map(({ shares }) => shares)).toEqual([1, 4, 16]);
  });
});
