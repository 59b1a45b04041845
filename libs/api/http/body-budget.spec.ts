import fc from 'fast-check';
import { BodyBudget } from './body-reader.js';

describe('the budget of bodies', () => {
  it('gives a caller alone a quarter', () => {
    const budget = new BodyBudget(1_000);
    expect([budget.take('a', 250), budget.take('a', 1), budget.used]).toEqual([true, false, 250]);
  });

  it('begins no more bodies of a caller than its quarter has room for, and takes them from nobody else', () => {
    const budget = new BodyBudget(1_000);
    expect([budget.announce('a', 150), budget.announce('a', 100), budget.announce('a', 1)]).toEqual([
      true,
      true,
      false,
    ]);
    expect([budget.used, budget.announce('b', 250), budget.hasRoom('c', 250)]).toEqual([0, true, true]);
    // They arrive.
    expect([budget.take('a', 150), budget.take('a', 100)]).toEqual([true, true]);
    budget.unannounce('a', 250);
    expect(budget.announce('a', 1)).toBe(false);
    budget.give('a', 150);
    expect([budget.announce('a', 150), budget.announce('a', 1)]).toEqual([true, false]);
    budget.unannounce('a', 150);
    expect(budget.announce('a', 150)).toBe(true);
  });

  it('has room for an envelope of one more when a dozen hold all they can', () => {
    const budget = new BodyBudget(64 * 1024 * 1024);
    for (let caller = 0; caller < 12; caller += 1) while (budget.take(`c${caller}`, 4_096)) continue;
    expect(budget.hasRoom('another', 256 * 1024)).toBe(true);
  });

  it('takes back what it gave, and never gives more than it has', () => {
    const moves = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.integer({ min: -300, max: 300 })));
    fc.assert(
      fc.property(moves, (all) => {
        const budget = new BodyBudget(1_000);
        const held = new Map<string, number>();
        for (const [caller, bytes] of all) {
          const before = held.get(caller) ?? 0;
          const left = Math.max(0, before + bytes);
          if (bytes < 0) budget.give(caller, before - left);
          if (bytes < 0 || budget.take(caller, bytes)) held.set(caller, left);
          expect(budget.used).toBe([...held.values()].reduce((sum, one) => sum + one, 0));
          expect(budget.used).toBeLessThan(1_000);
          expect(held.get(caller) ?? 0).toBeLessThanOrEqual(Math.max(before, 250));
        }
        for (const [caller, bytes] of held) budget.give(caller, bytes);
        expect([budget.used, budget.take('e', 250)]).toEqual([0, true]);
      }),
    );
  });
});
