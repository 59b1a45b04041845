import { fragmentOf, PAGE, pageFrom, readPlace } from './place.js';

it.each([
  [['webhooks', 'a/b ü'], { status: 'dead', since: '2026-03-09T07:05:03Z' }],
  [[], {}],
  [['deliveries'], { q: 'a&b=c#d' }],
])('a place %j %j is read from its fragment', (path, query) => {
  expect(readPlace(fragmentOf(path, query))).toEqual({ path, query });
});

it('a fragment has no empty members', () => {
  expect(fragmentOf(['x'], { a: '', b: undefined, c: '1' })).toBe('#/x?c=1');
});

it.each(['', '#', '#main', '#code=abc'])('%j is the start', (fragment) => {
  expect(readPlace(fragment)).toEqual({ path: [], query: {} });
});

it('a fragment that is badly encoded is taken as it is', () => {
  expect(readPlace('#/a%ff').path).toEqual(['a%ff']);
});

describe('a list', () => {
  const all = Array.from({ length: 2 * PAGE + 1 }, (_, index) => index);

  it('turns pages until every row was shown once', () => {
    const shown: number[] = [];
    let at: number | undefined = 0;
    while (at !== undefined) {
      const { rows, later }: ReturnType<typeof pageFrom<number>> = pageFrom(all, String(at));
      shown.push(...rows);
      at = later;
    }
    expect(shown).toEqual(all);
    const last = pageFrom(all, String(2 * PAGE));
    expect([last.rows.length, last.from, last.earlier, last.later]).toEqual([1, 2 * PAGE, PAGE, undefined]);
  });

  it.each([undefined, '', 'x', '-1', '1.5', 'Infinity', String(all.length)])('begins at the head for %j', (asked) => {
    expect(pageFrom(all, asked)).toMatchObject({ from: 0, earlier: undefined, later: PAGE });
  });
});
