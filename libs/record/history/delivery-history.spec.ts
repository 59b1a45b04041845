import { merged } from './delivery-history.adapter.js';

const listOf =
  (entries: readonly number[], reads: number[] = []) =>
  async (last: number | undefined, count: number): Promise<readonly number[]> => {
    reads.push(count);
    const from = last === undefined ? 0 : entries.indexOf(last) + 1;
    return entries.slice(from, from + count);
  };
const all = async (lists: readonly number[][], count: number): Promise<number[]> => {
  const found: number[] = [];
  const reads = lists.map((entries) => listOf(entries));
  for await (const each of merged(reads, (a, b) => a - b, count)) found.push(each);
  return found;
};

describe('sorted lists', () => {
  it.each([1, 2, 3, 10])('are merged, %i entries of each at once', async (count) => {
    expect(await all([[1, 4, 5, 9], [], [2, 3, 10], [6], [7, 8]], count)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(await all([[], []], count)).toEqual([]);
    expect(await all([], count)).toEqual([]);
  });

  it('are read no further than they are needed', async () => {
    const [near, far]: [number[], number[]] = [[], []];
    const numbers = Array.from({ length: 100 }, (_, n) => n);
    const taken: number[] = [];
    for await (const each of merged([listOf(numbers, near), listOf([1_000, 1_001, 1_002], far)], (a, b) => a - b, 2)) {
      taken.push(each);
      if (taken.length === 6) break;
    }
    expect([taken, near, far]).toEqual([[0, 1, 2, 3, 4, 5], [2, 2, 2], [2]]);
  });
});
