import fc from 'fast-check';
import { sharers } from './pass-sharers.js';

const LENGTH = 100;
const waiting = (cursors: Record<string, number>): Map<string, { from: number }> =>
  new Map(Object.entries(cursors).map(([key, from]) => [key, { from }]));

describe('those that share a pass', () => {
  it('are all where they are close together, from the lowest', () => {
    const { going, from } = sharers(waiting({ a: 30, b: 0, c: 99 }), undefined, LENGTH);
    expect([[...going.keys()], from]).toEqual([['a', 'b', 'c'], 0]);
  });

  it('are in turn those that are far apart, whatever one has before it', () => {
    const able = waiting({ slow: 0, behind: 10, far: 1_000_000 });
    let before: string | undefined;
    const passes = [1, 2, 3, 4].map(() => {
      const { first, going } = sharers(able, before, LENGTH);
      before = first;
      return `${first}: ${[...going.keys()].join()}`;
    });
    expect(passes).toEqual(['slow: slow,behind', 'behind: slow,behind', 'far: far', 'slow: slow,behind']);
  });

  it('go on with another when the one before has ended, and are none where none waits', () => {
    expect(sharers(waiting({ a: 5 }), 'gone', LENGTH).first).toBe('a');
    expect(sharers(new Map(), 'a', LENGTH)).toEqual({ first: undefined, going: new Map(), from: Infinity });
  });

  it('always include the one whose turn it is, and none whose cursor the pass would skip', () => {
    const cursors = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.nat(500), { minKeys: 1 });
    fc.assert(
      fc.property(cursors, fc.constantFrom('a', 'c', 'x'), (given, before) => {
        const { first, going, from } = sharers(waiting(given), before, LENGTH);
        expect(going.has(first ?? '')).toBe(true);
        for (const turn of going.values()) expect(turn.from >= from && turn.from < from + LENGTH).toBe(true);
      }),
    );
  });
});
