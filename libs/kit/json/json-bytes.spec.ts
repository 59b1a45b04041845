import * as fc from 'fast-check';
import { splitArray, splitLines } from './json-bytes.js';

const MOST = 1_000;
const textsOf = (parts: Buffer[] | undefined): string[] | undefined => parts?.map(String);

describe('splitArray', () => {
  it.each([
    ['[]', []],
    [' [ ] \n', []],
    ['[1]', ['1']],
    ['[ {"a" : [1,2]} ,\n{"b":"],\\"["} ]', ['{"a" : [1,2]}', '{"b":"],\\"["}']],
    ['[{"n":1.10,"b":12345678901234567890}]', ['{"n":1.10,"b":12345678901234567890}']],
    ['["\\\\",1]', ['"\\\\"', '1']],
    ['[{"a":1},what,{"b":2}]', ['{"a":1}', 'what', '{"b":2}']],
    ['[1,]', ['1', '']],
    ['[,]', ['', '']],
  ])('splits %j into its elements, byte for byte', (text, parts) => {
    expect(textsOf(splitArray(Buffer.from(text), MOST))).toEqual(parts);
  });

  it.each(['', '{}', '[', '[1', '[1]2', '[1]]', '["a]', '[{]', '[}]', '"[]"', 'null'])(
    'finds no array in %j',
    (text) => {
      expect(splitArray(Buffer.from(text), MOST)).toBeUndefined();
    },
  );

  it('gives of any JSON array elements that mean the same', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 2, '\t'), (values, space) => {
        const parts = splitArray(Buffer.from(JSON.stringify(values, null, space)), MOST);
        expect(parts?.map((part) => JSON.parse(part.toString()) as unknown)).toEqual(
          JSON.parse(JSON.stringify(values)),
        );
      }),
    );
  });

  it('answers on any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(() => splitArray(Buffer.from(bytes), MOST)).not.toThrow();
      }),
    );
  });
});

describe('splitLines', () => {
  it.each([
    ['', []],
    ['\n \r\n', []],
    ['{"a":1}', ['{"a":1}']],
    ['{"a":1}\r\n\n {"b":2}\n', ['{"a":1}', '{"b":2}']],
  ])('splits %j into the lines that are not blank', (text, lines) => {
    expect(textsOf(splitLines(Buffer.from(text), MOST))).toEqual(lines);
  });
});

it.each([
  ['commas', splitArray, `[${','.repeat(4_000_000)}]`],
  ['commas in an array without end', splitArray, `[${','.repeat(4_000_000)}`],
  ['lines', splitLines, '1\n'.repeat(2_000_000)],
])('a split of millions of %s ends one part after the limit', (_, split, text) => {
  expect(split(Buffer.from(text), MOST)).toHaveLength(MOST + 1);
});

it('a split of millions of blank lines makes no part', () => {
  expect(splitLines(Buffer.from('\n'.repeat(4_000_000)), MOST)).toEqual([]);
});
