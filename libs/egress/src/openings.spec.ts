import { egressOpenings } from './openings.js';

describe('egress openings', () => {
  it('says nothing of closed defaults', () => {
    expect(egressOpenings({ EGRESS_ALLOW_HTTP: false, EGRESS_ALLOW_CIDRS: [] })).toEqual([]);
  });

  it('names each variable that opens something', () => {
    expect(egressOpenings({ EGRESS_ALLOW_HTTP: true, EGRESS_ALLOW_CIDRS: ['127.0.0.0/8'] })).toEqual([
      expect.stringContaining('EGRESS_ALLOW_HTTP=true'),
      expect.stringContaining('EGRESS_ALLOW_CIDRS=127.0.0.0/8'),
    ]);
  });

  it('says that a range of NAT64 opens nothing, and what to set instead', () => {
    const EGRESS_ALLOW_CIDRS = ['64:ff9b:1::/48', 'fd00::/8', '::/0'];
    expect(egressOpenings({ EGRESS_ALLOW_HTTP: false, EGRESS_ALLOW_CIDRS })).toEqual([
      expect.stringContaining('64:ff9b:1::/48,fd00::/8,::/0: endpoints may reach'),
      expect.stringMatching(/^EGRESS_ALLOW_CIDRS=64:ff9b:1::\/48 opens nothing.*EGRESS_NAT64_PREFIX/),
    ]);
  });
});
