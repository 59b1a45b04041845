import { excerpt, jsonPointer, parseJson } from './index.js';
import type { JsonResult } from './parse-json.js';

const read = (text: string, maxDepth?: number): JsonResult =>
  parseJson(Buffer.from(text), maxDepth === undefined ? {} : { maxDepth });

const canonicalOf = (text: string): string => {
  const result = read(text);
  return result.ok ? result.canonical : `refused: ${result.fault.detail}`;
};

const faultOf = (result: JsonResult): { pointer: string; detail: string } | undefined =>
  result.ok ? undefined : result.fault;

describe('canonical text', () => {
  it.each([
    ['{"b":1,"a":2}', '{"a":2,"b":1}'],
    [' { "b" : [ 1 , true ,\t null ] ,\r\n "a" : { } } ', '{"a":{},"b":[1,true,null]}'],
    ['{"é":1,"z":2,"Z":3,"":4,"\ud83d\ude00":5,"\ufb01":6}', '{"":4,"Z":3,"z":2,"é":1,"\ud83d\ude00":5,"\ufb01":6}'],
    [String.raw`"\u0041\/\u000a\u001F\u2028\ud83d\ude00"`, '"A/\\n\\u001f\u2028\ud83d\ude00"'],
    [String.raw`{"\u0062":1,"a":2}`, '{"a":2,"b":1}'],
    [String.raw`{"a\"":1,"a!":2,"a":3}`, String.raw`{"a":3,"a!":2,"a\"":1}`],
    ['[1.10,1.1,12345678901234567890,-0,1E5,1e400]', '[1.10,1.1,12345678901234567890,-0,1E5,1e400]'],
    ['""', '""'],
    ['[]', '[]'],
  ])('for %s is %s', (text, canonical) => {
    expect(canonicalOf(text)).toBe(canonical);
  });
});

describe('value', () => {
  it('defines hostile names as own properties', () => {
    const result = read('{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}}');
    const value = result.ok ? result.value : undefined;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(Object(value))).toEqual(['__proto__', 'constructor']);
    expect(value).not.toHaveProperty('isAdmin');
    expect({}).not.toHaveProperty('isAdmin');
  });

  it('holds the largest finite number for a number beyond it, and the text keeps the number as written', () => {
    expect(read('{"a":[1e400,-1e400,1e-400,7]}')).toEqual({
      ok: true,
      value: { a: [Number.MAX_VALUE, -Number.MAX_VALUE, 0, 7] },
      canonical: '{"a":[1e400,-1e400,1e-400,7]}',
    });
  });

  it.each([
    [String.raw`{"a":0,"\\":0}`, String.raw`{"a":0,"\n":0}`, '\n'],
    [String.raw`{"a":0,"\\u":0}`, String.raw`{"a":0,"\u0069d":0}`, 'id'],
  ])('reads names right after %s, unlike JSON.parse of V8 (nodejs/node#63785)', (earlier, text, name) => {
    expect(read(earlier).ok).toBe(true);
    expect(() => JSON.parse(earlier)).not.toThrow();
    expect(read(text)).toMatchObject({ ok: true, value: { a: 0, [name]: 0 } });
  });

  it('reads a view into a larger buffer', () => {
    expect(parseJson(new Uint8Array(Buffer.from('xx[1]xx')).subarray(2, 5))).toEqual({
      ok: true,
      value: [1],
      canonical: '[1]',
    });
  });
});

describe('refused texts', () => {
  it.each([
    ['', '', 'The text ends where a JSON value should be at byte 0.'],
    ['   ', '', 'The text ends where a JSON value should be at byte 3.'],
    ['\ufeff{}', '', 'A byte order mark is not allowed (RFC 8259 section 8.1) at byte 0.'],
    ['{"a":1,"a":2}', '/a', 'The member "a" occurs twice at byte 7.'],
    [String.raw`{"a":1,"b":{"é":1,"\u00e9":2}}`, '/b/é', 'The member "é" occurs twice at byte 19.'],
    ['{"__proto__":1,"__proto__":2}', '/__proto__', 'The member "__proto__" occurs twice at byte 15.'],
    [String.raw`"\ud800"`, '', 'A string holds half of a surrogate pair at byte 1.'],
    [String.raw`{"x":["\udc00\ud800"]}`, '/x/0', 'A string holds half of a surrogate pair at byte 7.'],
    [String.raw`"\ud800A"`, '', 'A string holds half of a surrogate pair at byte 1.'],
    [String.raw`"é\x41"`, '', 'A string holds an escape that JSON does not have at byte 3.'],
    [String.raw`"\U0041"`, '', 'A string holds an escape that JSON does not have at byte 1.'],
    [String.raw`"\u00g0"`, '', 'A string holds an escape that JSON does not have at byte 1.'],
    ['"a\tb"', '', 'A string holds a control character that is not escaped at byte 2.'],
    ['"a\0b"', '', 'A string holds a control character that is not escaped at byte 2.'],
    ['["abc', '/0', 'The text ends inside a string that starts at byte 1.'],
    ['"\\', '', 'A string holds an escape that JSON does not have at byte 1.'],
    ['{"a":1', '', 'The text ends where a comma or a closing brace should be at byte 6.'],
    ['[1,2', '', 'The text ends where a comma or a closing bracket should be at byte 4.'],
    ['{"a"', '/a', 'The text ends where a colon should be at byte 4.'],
    ['{"a" 1}', '/a', 'Found 1 where a colon should be at byte 5.'],
    ['{"a":}', '/a', 'Found } where a JSON value should be at byte 5.'],
    ['{"a":1,}', '', 'Found } where a member name in double quotes should be at byte 7.'],
    ['{,}', '', 'Found , where a member name in double quotes should be at byte 1.'],
    ['{a:1}', '', 'Found a where a member name in double quotes should be at byte 1.'],
    ["{'a':1}", '', "Found ' where a member name in double quotes should be at byte 1."],
    ['[1,]', '/1', 'Found ] where a JSON value should be at byte 3.'],
    ['[1 2]', '', 'Found 2 where a comma or a closing bracket should be at byte 3.'],
    ['{}{}', '', 'Found { where the end of the text should be at byte 2.'],
    ['[1]\u0000', '', 'Found U+0000 where the end of the text should be at byte 3.'],
    ['\u00a0[]', '', 'Found U+00A0 where a JSON value should be at byte 0.'],
    ['01', '', 'Found 1 where the end of the text should be at byte 1.'],
    ['{"n":-01}', '', 'Found 1 where a comma or a closing brace should be at byte 7.'],
    ['[1.]', '', 'Found . where a comma or a closing bracket should be at byte 2.'],
    ['[.5]', '/0', 'Found . where a JSON value should be at byte 1.'],
    ['[+1]', '/0', 'Found + where a JSON value should be at byte 1.'],
    ['[1e]', '', 'Found e where a comma or a closing bracket should be at byte 2.'],
    ['[-]', '/0', 'Found - where a JSON value should be at byte 1.'],
    ['[0x1]', '', 'Found x where a comma or a closing bracket should be at byte 2.'],
    ['NaN', '', 'Found N where a JSON value should be at byte 0.'],
    ['-Infinity', '', 'Found - where a JSON value should be at byte 0.'],
    ['undefined', '', 'Found u where a JSON value should be at byte 0.'],
    ['tru', '', 'Found t where a JSON value should be at byte 0.'],
    ['True', '', 'Found T where a JSON value should be at byte 0.'],
    ['[1]//x', '', 'Found / where the end of the text should be at byte 3.'],
  ])('%j is refused at %j: %s', (text, pointer, detail) => {
    expect(read(text)).toEqual({ ok: false, fault: { pointer, detail } });
  });

  it.each([
    ['an overlong slash', [0x22, 0xc0, 0xaf, 0x22], 1],
    ['an overlong NUL', [0x22, 0xe0, 0x80, 0x80, 0x22], 1],
    ['an encoded surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22], 1],
    ['a code point above U+10FFFF', [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22], 1],
    ['a stray continuation', [0x22, 0x80, 0x22], 1],
    ['a Latin-1 letter', [0x22, 0xe9, 0x22], 1],
    ['a sequence cut short', [0x22, 0xe2, 0x82], 1],
    ['a genuine U+FFFD before it', [0x22, 0xef, 0xbf, 0xbd, 0x61, 0xff, 0x22], 5],
    ['UTF-16', [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00], 0],
  ])('%s is no UTF-8', (_name, bytes, offset) => {
    expect(parseJson(Uint8Array.from(bytes))).toEqual({
      ok: false,
      fault: { pointer: '', detail: `The text is not valid UTF-8 at byte ${offset}.` },
    });
  });

  it.each([
    ['[', ']'],
    ['{"a":', '}'],
  ])('limits the nesting of %s', (open, close) => {
    const nested = (depth: number): string => `${open.repeat(depth)}${open === '[' ? '' : '1'}${close.repeat(depth)}`;
    expect(read(nested(32)).ok).toBe(true);
    expect(faultOf(read(nested(33)))?.detail).toBe(`The nesting is deeper than 32 levels at byte ${32 * open.length}.`);
    expect(read(nested(3), 3).ok).toBe(true);
    expect(read(nested(3), 2).ok).toBe(false);
  });

  it('survives 10,000 and a million opening brackets, whatever the caller allows', () => {
    expect(faultOf(read('['.repeat(10_000)))?.detail).toBe('The nesting is deeper than 32 levels at byte 32.');
    expect(faultOf(read('['.repeat(1_000_000), Infinity))?.detail).toBe(
      'The nesting is deeper than 500 levels at byte 500.',
    );
  });

  it('reads a number of 250,000 digits and a string of 250,000 escapes', () => {
    expect(canonicalOf('1'.repeat(250_000))).toHaveLength(250_000);
    expect(canonicalOf(`"${String.raw`\n`.repeat(250_000)}"`)).toHaveLength(500_002);
  });

  it('never sends back more than 40 characters of a name', () => {
    const name = 'x'.repeat(5_000);
    expect(read(`{"a":{"${name}":1,"${name}":2}}`)).toEqual({
      ok: false,
      fault: { pointer: '/a', detail: `The member "${'x'.repeat(40)}"… occurs twice at byte 5011.` },
    });
  });
});

describe('jsonPointer', () => {
  it.each([
    [[], ''],
    [['a', 0, ''], '/a/0/'],
    [['a/b', '~1'], '/a~1b/~01'],
    [['a', 'x'.repeat(101), 'b'], '/a'],
  ])('writes %j as %j', (path, pointer) => {
    expect(jsonPointer(path)).toBe(pointer);
  });
});

describe('excerpt', () => {
  it('escapes characters that break a log line, and half a pair at the cut', () => {
    expect(excerpt('a\n"')).toBe(String.raw`"a\n\""`);
    expect(excerpt(`${'x'.repeat(39)}\u{1f600}`)).toBe(`"${'x'.repeat(39)}${String.raw`\ud83d`}"…`);
  });
});
