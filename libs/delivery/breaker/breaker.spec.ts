import * as fc from 'fast-check';
import {
  barredUntil,
  CLOSED,
  counted,
  held,
  isForgettable,
  openMs,
  probed,
  probing,
  sound,
  type Breaker,
} from './breaker.js';

const NOW = 1_000_000_000;
const fails = (breaker: Breaker, times: number, now = NOW): Breaker => {
  let next = breaker;
  for (let n = 0; n < times; n += 1) next = counted(next, { succeeded: 0, failed: 1, row: 1 }, now);
  return next;
};
const succeeds = (breaker: Breaker, times: number, now = NOW): Breaker =>
  counted(breaker, { succeeded: times, failed: 0, row: 0 }, now);

const check = (holds: boolean, fault: string): void => {
  if (!holds) throw new Error(fault);
};

describe('a breaker', () => {
  it('opens after 10 failures in a row, for 30 s', () => {
    expect(fails(CLOSED, 9).openUntil).toBe(0);
    expect(fails(CLOSED, 10)).toMatchObject({ openUntil: NOW + 30_000, opened: 1 });
  });

  it('opens when half of 20 attempts in a minute failed, however they are mixed', () => {
    let breaker = CLOSED;
    for (let n = 0; n < 9; n += 1) breaker = fails(succeeds(breaker, 1), 1);
    expect(breaker.openUntil).toBe(0);
    expect(fails(succeeds(breaker, 1), 1).openUntil).toBe(NOW + 30_000);
  });

  it('stays closed with fewer failures than half, or when they are more than a minute old', () => {
    expect(fails(succeeds(CLOSED, 1_000), 9).openUntil).toBe(0);
    const old = fails(succeeds(CLOSED, 9), 9);
    expect(fails(succeeds(old, 1, NOW + 61_000), 1, NOW + 61_000).openUntil).toBe(0);
    expect(isForgettable(old, NOW + 61_000)).toBe(true);
    expect(isForgettable(old, NOW)).toBe(false);
  });

  it('is kept while it is open, unless no delivery is left to probe it', () => {
    const { openUntil } = fails(CLOSED, 10);
    const hours = (count: number): number => openUntil + count * 3_600_000;
    expect([0, 95, 97].map((count) => isForgettable(fails(CLOSED, 10), hours(count)))).toEqual([false, false, true]);
    const probedLast = probing(fails(CLOSED, 10), hours(2), 20_000) ?? CLOSED;
    expect([97, 99].map((count) => isForgettable(probedLast, hours(count)))).toEqual([false, true]);
  });

  it('is open twice as long after each failed probe, from 30 s to 10 min', () => {
    let breaker = fails(CLOSED, 10);
    let now = breaker.openUntil;
    const seconds = [openMs(breaker) / 1_000];
    for (let n = 0; n < 7; n += 1) {
      breaker = probed(probing(breaker, now, 20_000) ?? CLOSED, false, now);
      seconds.push((breaker.openUntil - now) / 1_000);
      now = breaker.openUntil;
    }
    expect(seconds).toEqual([30, 60, 120, 240, 480, 600, 600, 600]);
    expect(probed(probing(breaker, now, 20_000) ?? CLOSED, true, now)).toEqual(CLOSED);
  });

  it('lets one probe run at a time, and another when its claim has run out', () => {
    const open = fails(CLOSED, 10);
    expect(probing(open, NOW + 29_999, 20_000)).toBeUndefined();
    const claimed = probing(open, NOW + 30_000, 20_000) ?? CLOSED;
    expect(probing(claimed, NOW + 49_999, 20_000)).toBeUndefined();
    expect(barredUntil(claimed, NOW + 30_001)).toBe(NOW + 50_000);
    expect(probing(claimed, NOW + 50_000, 20_000)).toBeDefined();
  });

  it('ignores a time from a clock that was hours ahead when it opened: a probe is due at once', () => {
    const open = sound(fails(CLOSED, 10, NOW + 7_200_000), NOW);
    expect(barredUntil(open, NOW)).toBe(NOW);
    expect(probing(open, NOW, 20_000)).toMatchObject({ probeUntil: NOW + 20_000 });
    const longest = sound({ ...open, openUntil: NOW + 600_000 }, NOW);
    expect(barredUntil(longest, NOW)).toBe(NOW + 600_000);
  });

  it('ignores a rest that is longer than an endpoint can ask for, and counts a minute that has not begun as begun', () => {
    expect(sound(held(CLOSED, NOW + 90_000_000), NOW).heldUntil).toBe(NOW);
    expect(sound(held(CLOSED, NOW + 86_400_000), NOW).heldUntil).toBe(NOW + 86_400_000);
    expect(sound(fails(CLOSED, 1, NOW + 7_200_000), NOW)).toMatchObject({ halfAt: NOW, present: { failed: 1 } });
  });

  it('ignores attempts that began before it opened', () => {
    const open = fails(CLOSED, 10);
    expect(fails(open, 100)).toBe(open);
    expect(succeeds(open, 100)).toBe(open);
  });

  it('holds an endpoint that asked for a pause, open or not, and probes it only afterwards', () => {
    const resting = held(CLOSED, NOW + 60_000);
    expect(barredUntil(resting, NOW)).toBe(NOW + 60_000);
    expect(barredUntil(held(resting, NOW + 1_000), NOW)).toBe(NOW + 60_000);
    expect(barredUntil(resting, NOW + 60_000)).toBe(NOW + 60_000);
    const open = fails(resting, 10);
    expect(probing(open, NOW + 59_999, 20_000)).toBeUndefined();
    expect(probed(probing(open, NOW + 60_000, 20_000) ?? CLOSED, true, NOW + 60_000).openUntil).toBe(0);
  });

  it('agrees with a plain count of the last attempts in every history, and never lets two probes run', () => {
    const step = fc.record({
      waitMs: fc.nat(20_000),
      kind: fc.constantFrom('succeed', 'fail', 'fail', 'probe', 'end probe well', 'end probe badly'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        let breaker = CLOSED;
        let now = NOW;
        let row = 0;
        let recent: { at: number; failed: boolean }[] = [];
        let claimedUntil = 0;
        for (const { waitMs, kind } of steps) {
          now += waitMs;
          const wasOpen = breaker.openUntil > 0;
          if (kind === 'probe') {
            const claimed = probing(breaker, now, 20_000);
            if (claimed === undefined) continue;
            check(now >= Math.max(claimedUntil, breaker.openUntil), 'a probe beside another, or too early');
            breaker = claimed;
            claimedUntil = now + 20_000;
          } else if (kind === 'succeed' || kind === 'fail') {
            const failed = kind === 'fail';
            breaker = failed ? fails(breaker, 1, now) : succeeds(breaker, 1, now);
            if (wasOpen) continue;
            row = failed ? row + 1 : 0;
            recent = [...recent, { at: now, failed }].filter(({ at }) => at > now - 60_000);
            const bad = recent.filter((each) => each.failed).length;
            check(row < 10 || breaker.openUntil > now, 'closed after ten failures in a row');
            check(
              breaker.openUntil <= now || row >= 10 || bad >= 10,
              'open although too few failed in the last minute',
            );
          } else if (claimedUntil > now) {
            claimedUntil = 0;
            breaker = probed(breaker, kind === 'end probe well', now);
          }
          if (wasOpen && breaker.openUntil === 0) {
            row = 0;
            recent = [];
          }
          expect(barredUntil(breaker, now)).toBeLessThanOrEqual(now + 600_000);
        }
      }),
    );
  });
});
