import * as fc from 'fast-check';
import { Pace } from './stall-aware-clock.js';

describe('Pace', () => {
  it('is the clock while beats are in time, or none came yet', () => {
    const pace = new Pace();
    expect(pace.at(9_000)).toBe(9_000);
    for (let now = 0; now <= 1_000; now += 50) pace.beat(now);
    expect(pace.at(1_050)).toBe(1_050);
  });

  it('stands still while this process does, before the beat that tells so and after', () => {
    const pace = new Pace();
    pace.beat(1_000);
    expect(pace.at(4_050)).toBe(1_050);
    pace.beat(4_050);
    expect([pace.at(4_050), pace.at(4_060)]).toEqual([1_050, 1_060]);
  });

  it('takes a rest for no stall', () => {
    const pace = new Pace();
    pace.beat(1_000);
    pace.rest();
    pace.beat(60_000);
    expect(pace.at(60_010)).toBe(60_010);
  });

  it('never goes back, never runs ahead of the clock, and counts no more of a wait than its beats account for', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(3_000)), { minLength: 1, maxLength: 60 }), (steps) => {
        const pace = new Pace();
        let now = 0;
        pace.beat(0);
        let before = pace.at(0);
        for (const [isBeat, waitMs] of steps) {
          now += waitMs;
          const at = pace.at(now);
          expect(at).toBeGreaterThanOrEqual(before);
          expect(at - before).toBeLessThanOrEqual(Math.min(waitMs, 50 + (isBeat ? 0 : waitMs)));
          expect(at).toBeLessThanOrEqual(now);
          if (isBeat) pace.beat(now);
          expect(pace.at(now)).toBe(at);
          before = at;
        }
      }),
    );
  });
});
