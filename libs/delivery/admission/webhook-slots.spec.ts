import * as fc from 'fast-check';
import { AdaptiveLimit, INITIAL_LIMIT } from './webhook-slots.js';

const many = (times: number, step: () => void): void => {
  for (let n = 0; n < times; n += 1) step();
};

describe('AdaptiveLimit', () => {
  it('starts at 8 and doubles with each round of quick successes, up to its maximum', () => {
    const limit = new AdaptiveLimit(64, INITIAL_LIMIT);
    const rounds = [limit.value];
    for (let round = 0; round < 4; round += 1) {
      many(limit.value, () => limit.succeeded());
      rounds.push(limit.value);
    }
    expect(rounds).toEqual([8, 16, 32, 64, 64]);
  });

  it('never exceeds a maximum below 8', () => {
    expect(new AdaptiveLimit(3, INITIAL_LIMIT).value).toBe(3);
  });

  it('falls by one, two, four and so on with failures in a row, to 1', () => {
    const limit = new AdaptiveLimit(64, INITIAL_LIMIT);
    many(56, () => limit.succeeded());
    const values = [limit.value];
    many(7, () => values.push((limit.failed(), limit.value)));
    expect(values).toEqual([64, 63, 61, 57, 49, 33, 1, 1]);
  });

  it.each([
    ['grows to its maximum', 'every third', 3, 64],
    ['stays where it is', 'every second', 2, 8],
  ])('%s while %s attempt fails', (_, __, every, expected) => {
    const limit = new AdaptiveLimit(64, INITIAL_LIMIT);
    for (let n = 1; n <= 300; n += 1) {
      if (n % every === 0) limit.failed();
      else limit.succeeded();
    }
    expect(Math.abs(limit.value - expected)).toBeLessThanOrEqual(1);
  });

  it('falls to 8 at once when an attempt is slow, and stays there while slow attempts succeed', () => {
    const limit = new AdaptiveLimit(64, INITIAL_LIMIT);
    many(56, () => limit.succeeded());
    limit.slow();
    expect([limit.value, limit.isTroubled]).toEqual([8, true]);
    many(100, () => limit.succeededSlowly());
    expect([limit.value, limit.isTroubled]).toEqual([8, true]);
  });

  it('is troubled until 8 quick successes in a row', () => {
    const limit = new AdaptiveLimit(64, INITIAL_LIMIT);
    many(4, () => limit.failed());
    many(7, () => limit.succeeded());
    expect([limit.value, limit.isTroubled]).toEqual([8, true]);
    limit.failed();
    many(8, () => limit.succeeded());
    expect([limit.value, limit.isTroubled]).toEqual([15, false]);
  });

  it('stays between 1 and its maximum, and is troubled exactly while fewer than 8 quick successes follow the last trouble', () => {
    const step = fc.constantFrom('failed', 'slow', 'succeeded', 'succeededSlowly');
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.array(step, { maxLength: 300 }), (maximum, steps) => {
        const limit = new AdaptiveLimit(maximum, INITIAL_LIMIT);
        let quick = Infinity;
        for (const next of steps) {
          const before = limit.value;
          limit[next]();
          quick = next === 'succeeded' ? quick + 1 : 0;
          expect(limit.isTroubled).toBe(quick < 8);
          expect(limit.value).toBeGreaterThanOrEqual(1);
          expect(limit.value).toBeLessThanOrEqual(maximum);
          expect(limit.value - before).toBeLessThanOrEqual(1);
        }
      }),
    );
  });
});
