import { describe, expect, it } from '@jest/globals';
import { fault, ok, warning } from '@relay/doctor';
import { egressFindings, findingsText, proxyFinding } from './doctor.command.js';

describe('egressFindings', () => {
  const closed = { RELAY_ENV: 'production', EGRESS_ALLOW_HTTP: false, EGRESS_ALLOW_CIDRS: [] };
  const open = { ...closed, EGRESS_ALLOW_HTTP: true, EGRESS_ALLOW_CIDRS: ['10.0.0.0/8'] };

  it('warns of each opening in production, with the variable to unset', () => {
    expect(egressFindings(closed).map(({ state }) => state)).toEqual(['ok']);
    expect(egressFindings({ ...open, RELAY_ENV: 'development' }).map(({ state }) => state)).toEqual(['ok']);
    expect(egressFindings(open)).toMatchObject([
      { state: 'warning', fix: expect.stringContaining('unset EGRESS_ALLOW_HTTP ') },
      { state: 'warning', fix: expect.stringContaining('unset EGRESS_ALLOW_CIDRS ') },
    ]);
  });
});

describe('proxyFinding', () => {
  it.each([
    [true, 'warning'],
    [false, 'ok'],
    [1, 'ok'],
    ['10.0.0.0/8', 'ok'],
  ])('finds for TRUST_PROXY=%s: %s', (trusted, state) => {
    expect(proxyFinding(trusted)).toMatchObject({ check: 'proxy', state });
  });
});

describe('findingsText', () => {
  it('puts each fix under its fault and counts faults and warnings', () => {
    const text = findingsText([ok('a', 'well'), warning('bb', 'odd', 'mend it'), fault('c', 'bad', 'repair it')]);
    expect(text.split('\n').map((line) => line.trimEnd())).toEqual([
      'ok       a   well',
      'warning  bb  odd',
      '             fix: mend it',
      'fault    c   bad',
      '             fix: repair it',
      '1 fault found, 1 warning',
    ]);
  });

  const [odd, bad] = [warning('w', 'odd', 'mend it'), fault('f', 'bad', 'repair it')];
  it.each([
    ['no fault found', [ok('a', 'well')]],
    ['no fault found, 2 warnings', [odd, ok('a', 'well'), odd]],
    ['1 fault found', [bad]],
    ['2 faults found, 1 warning', [bad, odd, bad]],
  ])('ends with: %s', (last, findings) => {
    expect(findingsText(findings).split('\n').at(-1)).toBe(last);
  });
});
