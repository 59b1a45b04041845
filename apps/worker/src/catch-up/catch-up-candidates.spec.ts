import fc from 'fast-check';
import { passMembers } from './catch-up-candidates.js';

const LENGTH = 100;
const waiting = (cursors: Record<string, number>): Map<string, { from: number }> =>
  new Map(Object.entries(cursors).map(([key, from]) => [key, { from }]));

describe('the members of a pass', () => {
  it('are all ranges that are close together, from the lowest', () => {
    const { members, from } = passMembers(waiting({ a: 30, b: 0, c: 99 }), undefined, LENGTH);
    expect([[...members.keys()], from]).toEqual([['a', 'b', 'c'], 0]);
  });

  it('take turns when they are far apart, however much one has to read', () => {
    const able = waiting({ slow: 0, behind: 10, far: 1_000_000 });
    let before: string | undefined;
    const passes = [1, 2, 3, 4].map(() => {
      const { first, members } = passMembers(able, before, LENGTH);
      before = first;
      return `${first}: ${[...members.keys()].join()}`;
    });
    expect(passes).toEqual(['slow: slow,behind', 'behind: slow,behind', 'far: far', 'slow: slow,behind']);
  });

  it('go on with another range when the one before has ended, and are none without a backlog', () => {
    expect(passMembers(waiting({ a: 5 }), 'gone', LENGTH).first).toBe('a');
    expect(passMembers(new Map(), 'a', LENGTH)).toEqual({ first: undefined, members: new Map(), from: Infinity });
  });

  it('always include the range whose turn it is, and no range whose cursor is outside the pass', () => {
    const cursors = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.nat(500), { minKeys: 1 });
    fc.assert(
      fc.property(cursors, fc.constantFrom('a', 'c', 'x'), (given, before) => {
        const { first, members, from } = passMembers(waiting(given), before, LENGTH);
        expect(members.has(first ?? '')).toBe(true);
        for (const range of members.values()) expect(range.from >= from && range.from < from + LENGTH).toBe(true);
      }),
    );
  });
});
