import { array, check, constantFrom, integer, property, tuple } from 'fast-check';
import { TurnLine } from './turn-line.js';

const NOW = 1_000_000;

describe('TurnLine', () => {
  it('brings the deliveries of an endpoint back one a second', () => {
    const line = new TurnLine();
    expect([1, 2, 3].map(() => line.reserve(NOW))).toEqual([NOW + 1_000, NOW + 2_000, NOW + 3_000]);
    expect(line.isBehind(NOW + 2_999)).toBe(true);
    expect(line.isBehind(NOW + 3_000)).toBe(false);
  });

  it('brings one delivery back for the reserved turn, and spaces the others by the number of rivals', () => {
    const line = new TurnLine();
    line.promised(NOW + 400, 5);
    expect(line.reserve(NOW)).toBe(NOW + 400);
    line.promised(NOW + 400, 5); // the same: somebody has it
    expect([line.reserve(NOW), line.reserve(NOW)]).toEqual([NOW + 5_400, NOW + 10_400]);
  });

  it('gives a new reserved turn to the next delivery, also while others wait for later turns', () => {
    const line = new TurnLine();
    for (let n = 0; n < 100; n += 1) line.reserve(NOW);
    line.promised(NOW + 2_500, 2);
    expect(line.reserve(NOW + 1_000)).toBe(NOW + 2_500);
  });

  it('begins again when all waiting deliveries have come back', () => {
    const line = new TurnLine();
    for (let n = 0; n < 50; n += 1) line.reserve(NOW);
    expect(line.isForgettable(NOW + 50_001)).toBe(true);
    expect(line.reserve(NOW + 60_000)).toBe(NOW + 61_000);
  });

  it('brings at most one of ten thousand back in a second for ten minutes, and delays none for longer', () => {
    const line = new TurnLine();
    const times = Array.from({ length: 10_000 }, () => line.reserve(NOW));
    expect(Math.max(...times)).toBeLessThanOrEqual(NOW + 600_000);
    const bySecond = new Map<number, number>();
    for (const at of times) bySecond.set(Math.floor(at / 1_000), (bySecond.get(Math.floor(at / 1_000)) ?? 0) + 1);
    expect(Math.max(...bySecond.values())).toBeLessThanOrEqual(35);
  });

  it('never returns a past time, and spaces all but reserved turns by a second', () => {
    const step = tuple(constantFrom('reserve', 'promise', 'later'), integer({ min: 1, max: 3_000 }));
    const run = check(
      property(array(step, { maxLength: 60 }), (steps) => {
        const line = new TurnLine();
        let now = NOW;
        let promised = new Set<number>();
        let before = 0;
        return steps.every(([what, number]) => {
          if (what === 'later') now += number;
          if (what === 'promise') {
            line.promised(now + number, 1);
            promised = new Set([...promised, now + number]);
          }
          if (what !== 'reserve') return true;
          const at = line.reserve(now);
          const isApart = promised.has(at) || at - before >= 1_000 || at > now;
          if (!promised.has(at)) before = at;
          return at > now && isApart;
        });
      }),
    );
    expect(run).toMatchObject({ failed: false });
  });
});
