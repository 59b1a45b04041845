import { readJson } from './json-lines.js';

const lineOf = (text: string, pointer: string): number => {
  const read = readJson(text);
  return read.kind === 'read' ? read.lineOf(pointer) : 0;
};

it('readJson finds the line of each member, and of the one above a member that is missing', () => {
  const text = '\n{\n  "a": [\n    1,\n    { "x/y": "{\\"\\n" }\n  ],\n  "b~": { }, "c":\n true }\r\n';
  expect(readJson(text)).toMatchObject({ kind: 'read', value: { a: [1, { 'x/y': '{"\n' }], 'b~': {}, c: true } });
  const places = ['', '/a', '/a/0', '/a/1', '/a/1/x~1y', '/a/1/lost', '/a/7', '/b~0', '/b~0/in/it', '/c', '/none'];
  expect(places.map((place) => lineOf(text, place))).toEqual([2, 3, 4, 5, 5, 5, 3, 7, 7, 7, 2]);
});

it.each([
  ['{\n  "a": 1,\n}', 2, 'Nothing follows this comma: remove it.'],
  ['{\n  "a": 1\n  "b": 2\n}', 3, 'A comma or } is expected before "b"'],
  ["{\n  'a': 1 }", 2, "A name in double quotes is expected instead of 'a'"],
  ['{ "a":\n 01 }', 2, 'A value is expected instead of 01'],
  ['{ "a":\n\n tru }', 3, 'A value is expected instead of tru'],
  ['{ "a" 1 }', 1, 'A colon is expected before 1'],
  ['{ "a": "x\n" }', 1, 'The text "x has no end, or a wrong escape.'],
  [String.raw`{ "a": "\q" }`, 1, String.raw`The text "\q has no end, or a wrong escape.`],
  ['{\n "a": [1, 2', 2, 'A comma or ] is expected at the end.'],
  ['{\n\n', 3, 'A name in double quotes is expected at the end.'],
  ['{} // no', 1, 'The end of the text is expected instead of //'],
  ['{ "a": 1,\n "a": 2 }', 2, 'a is here twice.'],
  [`{"a":${'['.repeat(70_000)}`, 1, 'The text is nested too deep.'],
])('readJson names the line of the first fault of %j', (text, line, detail) => {
  expect(readJson(text)).toEqual({ kind: 'faulty', fault: { line, detail } });
});

it.each(['1', '"\\u0041"', 'null', '[]', '{"__proto__":{"a":1}}', ' [1.5e+3, -0]', '"\u007f"'])(
  'readJson takes what JSON.parse takes: %s',
  (text) => {
    expect(readJson(text)).toMatchObject({ kind: 'read', value: JSON.parse(text) });
  },
);

it('readJson says that an empty text is none', () => {
  expect(readJson(' \n')).toEqual({ kind: 'empty' });
});
