import * as fc from 'fast-check';
import { StallAwareClock } from './running-attempts.js';

describe('StallAwareClock', () => {
  it('equals the wall clock while beats are in time, or before the first', () => {
    const clock = new StallAwareClock();
    expect(clock.at(9_000)).toBe(9_000);
    for (let now = 0; now <= 1_000; now += 50) clock.beat(now);
    expect(clock.at(1_050)).toBe(1_050);
  });

  it('stands still while the process does, before the late beat and after it', () => {
    const clock = new StallAwareClock();
    clock.beat(1_000);
    expect(clock.at(4_050)).toBe(1_050);
    clock.beat(4_050);
    expect([clock.at(4_050), clock.at(4_060)]).toEqual([1_050, 1_060]);
  });

  it('counts the time between stop and the next beat as no stall', () => {
    const clock = new StallAwareClock();
    clock.beat(1_000);
    clock.stop();
    clock.beat(60_000);
    expect(clock.at(60_010)).toBe(60_010);
  });

  it('never goes back, never runs ahead of the clock, and counts no more of a wait than its beats account for', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(3_000)), { minLength: 1, maxLength: 60 }), (steps) => {
        const clock = new StallAwareClock();
        let now = 0;
        clock.beat(0);
        let before = clock.at(0);
        for (const [isBeat, waitMs] of steps) {
          now += waitMs;
          const at = clock.at(now);
          expect(at).toBeGreaterThanOrEqual(before);
          expect(at - before).toBeLessThanOrEqual(Math.min(waitMs, 50 + (isBeat ? 0 : waitMs)));
          expect(at).toBeLessThanOrEqual(now);
          if (isBeat) clock.beat(now);
          expect(clock.at(now)).toBe(at);
          before = at;
        }
      }),
    );
  });
});
