import type { LogRecord } from '@relay/events';
import { piecesOf } from './pass-reader.js';

const records = (...offsets: number[]): LogRecord[] =>
  offsets.map((offset) => ({ offset, key: null, value: null, headers: {}, timestamp: 0 }));
const shown = (offsets: number[], ...gaps: [from: number, to: number][]): unknown[] =>
  [
    ...piecesOf(
      records(...offsets),
      gaps.map(([from, to]) => ({ from, to })),
    ),
  ].map(({ chunk, gap }) => [chunk.map(({ offset }) => offset), gap === undefined ? undefined : [gap.from, gap.to]]);

describe('the part of a range that was read', () => {
  it('is looked at in pieces that end before a gap', () => {
    expect(shown([])).toEqual([]);
    expect(shown([3, 4])).toEqual([[[3, 4], undefined]]);
    expect(shown([], [0, 5])).toEqual([[[], [0, 5]]]);
    expect(shown([3, 4, 7, 9], [0, 3], [5, 7], [10, 12])).toEqual([
      [[], [0, 3]],
      [
        [3, 4],
        [5, 7],
      ],
      [
        [7, 9],
        [10, 12],
      ],
    ]);
  });

  it('is looked at in pieces of 50 at most', () => {
    const many = Array.from({ length: 120 }, (_, offset) => offset);
    const lengths = [...piecesOf(records(...many, 200), [{ from: 120, to: 200 }])].map(({ chunk }) => chunk.length);
    expect(lengths).toEqual([50, 50, 20, 1]);
  });
});
