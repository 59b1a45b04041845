import { partsOfUrl, runsOf } from './parts.js';

it('runsOf joins rows that follow each other with the same text, and leaves rows without a text alone', () => {
  const runs = runsOf(['a1', 'a2', 'b1', 'a3', '-', '-'], (row) => (row === '-' ? undefined : row[0]));
  expect(runs).toEqual([['a1', 'a2'], ['b1'], ['a3'], ['-'], ['-']]);
  expect(runsOf(['x', 'x'])).toEqual([['x'], ['x']]);
});

it.each([
  ['https://a.example/hook?x=1', 'a.example', '/hook?x=1'],
  ['http://127.0.0.1:3300/', 'http://127.0.0.1:3300', '/'],
  ['no URL', '', 'no URL'],
])('partsOfUrl divides %s', (url, host, path) => {
  expect(partsOfUrl(url)).toEqual([host, path]);
});
