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
});
