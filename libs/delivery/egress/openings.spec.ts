import { egressOpenings } from './openings.js';

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
