import { fragmentOf, readPlace } from './place.js';

it.each([
  [['webhooks', 'a/b ü'], { status: 'dead', since: '2026-03-09T07:05:03Z' }],
  [[], {}],
  [['deliveries'], { q: 'a&b=c#d' }],
])('a place %j %j is read from its fragment', (path, query) => {
  expect(readPlace(fragmentOf(path, query))).toEqual({ path, query });
});

it('leaves out what is empty', () => {
  expect(fragmentOf(['x'], { a: '', b: undefined, c: '1' })).toBe('#/x?c=1');
});

it.each(['', '#', '#main', '#code=abc'])('%j is the start', (fragment) => {
  expect(readPlace(fragment)).toEqual({ path: [], query: {} });
});

it('takes a fragment that is badly encoded as it is', () => {
  expect(readPlace('#/a%ff').path).toEqual(['a%ff']);
});
