import { IdSet } from './id-set.js';

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
