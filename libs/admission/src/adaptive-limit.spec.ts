import * as fc from 'fast-check';
import { AdaptiveCap, FIRST_CAP } from './adaptive-limit.js';

const many = (times: number, step: () => void): void => {
  for (let n = 0; n < times; n += 1) step();
};

describe('AdaptiveCap', () => {
  it('starts at 8 and doubles with each round of quick successes, up to the limit', () => {
    const cap = new AdaptiveCap(64, FIRST_CAP);
    const rounds = [cap.value];
    for (let round = 0; round < 4; round += 1) {
      many(cap.value, () => cap.succeeded());
      rounds.push(cap.value);
    }
    expect(rounds).toEqual([8, 16, 32, 64, 64]);
  });

  it('never exceeds a limit below 8', () => {
    expect(new AdaptiveCap(3, FIRST_CAP).value).toBe(3);
  });

  it('falls by one, two, four and so on with failures in a row, to 1', () => {
    const cap = new AdaptiveCap(64, FIRST_CAP);
    many(56, () => cap.succeeded());
    const values = [cap.value];
    many(7, () => values.push((cap.failed(), cap.value)));
    expect(values).toEqual([64, 63, 61, 57, 49, 33, 1, 1]);
  });

  it.each([
    ['grows to the limit', 'every third', 3, 64],
    ['stays where it is', 'every second', 2, 8],
  ])('%s while %s attempt fails', (_, __, every, expected) => {
    const cap = new AdaptiveCap(64, FIRST_CAP);
    for (let n = 1; n <= 300; n += 1) {
      if (n % every === 0) cap.failed();
      else cap.succeeded();
    }
    expect(Math.abs(cap.value - expected)).toBeLessThanOrEqual(1);
  });

  it('falls to 8 at once when an attempt is slow, and stays there while they succeed', () => {
    const cap = new AdaptiveCap(64, FIRST_CAP);
    many(56, () => cap.succeeded());
    cap.slow();
    expect([cap.value, cap.isTroubled]).toEqual([8, true]);
    many(100, () => cap.succeededSlowly());
    expect([cap.value, cap.isTroubled]).toEqual([8, true]);
  });

  it('is troubled until 8 quick successes in a row', () => {
    const cap = new AdaptiveCap(64, FIRST_CAP);
    many(4, () => cap.failed());
    many(7, () => cap.succeeded());
    expect([cap.value, cap.isTroubled]).toEqual([8, true]);
    cap.failed();
    many(8, () => cap.succeeded());
    expect([cap.value, cap.isTroubled]).toEqual([15, false]);
  });

  it('stays between 1 and the limit, and is troubled exactly while fewer than 8 quick successes follow the last trouble', () => {
    const step = fc.constantFrom('failed', 'slow', 'succeeded', 'succeededSlowly');
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.array(step, { maxLength: 300 }), (limit, steps) => {
        const cap = new AdaptiveCap(limit, FIRST_CAP);
        let quick = Infinity;
        for (const next of steps) {
          const before = cap.value;
          cap[next]();
          quick = next === 'succeeded' ? quick + 1 : 0;
          expect(cap.isTroubled).toBe(quick < 8);
          expect(cap.value).toBeGreaterThanOrEqual(1);
          expect(cap.value).toBeLessThanOrEqual(limit);
          expect(cap.value - before).toBeLessThanOrEqual(1);
        }
      }),
    );
  });
});
