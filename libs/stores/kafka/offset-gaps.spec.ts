import { gapsIn } from './topic-reader.adapter.js';

describe('the gaps in what was fetched', () => {
  const batch = (...offsets: number[]) => ({ rawMessages: offsets.map((offset) => ({ offset: String(offset) })) });

  it.each<[name: string, offsets: number[], next: number, end: number, gaps: [number, number][]]>([
    ['are none where each offset has a record', [3, 4, 5], 3, 10, []],
    ['are none before the first offset that is asked for', [1, 2, 3], 3, 10, []],
    [
      'are before and among records',
      [5, 6, 9],
      3,
      10,
      [
        [3, 5],
        [7, 9],
      ],
    ],
    ['end where the range does', [5, 9, 30], 6, 8, [[6, 8]]],
    ['are none where nothing came', [], 3, 10, []],
  ])('%s', (_name, offsets, next, end, gaps) => {
    expect(gapsIn(batch(...offsets), next, end).map(({ from, to }) => [from, to])).toEqual(gaps);
  });
});
