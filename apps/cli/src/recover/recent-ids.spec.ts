import { IdSet, RecentIds } from './logged-deliveries.js';

describe('IdSet', () => {
  it('knows each of 20,000 ids and none of 20,000 others, however often they are added', () => {
    const ids = new IdSet();
    for (let n = 0; n < 20_000; n += 1) ids.add(`id ${n}`);
    for (let n = 0; n < 20_000; n += 3) ids.add(`id ${n}`);
    expect(ids.size).toBe(20_000);
    const numbers = Array.from({ length: 20_000 }, (_, n) => n);
    expect(numbers.filter((n) => !ids.has(`id ${n}`))).toEqual([]);
    expect(numbers.filter((n) => ids.has(`other ${n}`))).toEqual([]);
  });
});

const WINDOW = 72;

describe('recent ids', () => {
  it.each([
    ['at once', 100, 100, true],
    ['within nearly the window', 100, 100 + WINDOW - 4, true],
    ['at its end', 100, 100 + WINDOW, false],
    ['later', 100, 1_000, false],
  ])('know an id that comes again %s: %s to %s', (_, first, then, isKnown) => {
    const ids = new RecentIds(WINDOW);
    ids.add('a', first);
    expect([ids.has('a', then), ids.has('b', then)]).toEqual([isKnown, false]);
  });

  it('never know one that is older than the window, whenever that begins', () => {
    for (let first = 0; first < 2 * WINDOW; first += 1) {
      const ids = new RecentIds(WINDOW);
      ids.add('a', first);
      expect(ids.has('a', first + WINDOW)).toBe(false);
      expect(ids.has('a', first + WINDOW - WINDOW / 24 - 1)).toBe(true);
    }
  });

  it('keep no more than the window', () => {
    const ids = new RecentIds(WINDOW);
    for (let at = 0; at < 100 * WINDOW; at += 1) ids.add(`${at}`, at);
    expect(ids.size).toBeLessThanOrEqual(WINDOW + 1);
  });
});
