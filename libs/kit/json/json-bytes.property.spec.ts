import fc from 'fast-check';
import { memberSource, parseJson } from './index.js';

const bytes = (text: string): Uint8Array => Buffer.from(text);
const sourceIn = (text: string, name: string): string | undefined => {
  const found = memberSource(bytes(text), name);
  return found && Buffer.from(found).toString();
};

describe('memberSource', () => {
  it.each([
    ['a number as it is written', '{"id":"x","data":1.10e+2}', '1.10e+2'],
    ['an object with its spaces and order', ' { "data" : { "b": 1, "a" :[ 2 ] }\n, "z":1}', '{ "b": 1, "a" :[ 2 ] }'],
    ['a string with a brace and a quote in it', '{"data":"}\\",{"}', '"}\\",{"'],
    ['a name written with an escape', '{"d\\u0061ta":true}', 'true'],
    ['the outer member only', '{"a":{"data":1},"data":2}', '2'],
    ['none', '{"a":{"data":1}}', undefined],
    ['none in an empty object', '{}', undefined],
    ['letters of other alphabets', '{"ä":"é","data":"ü😀"}', '"ü😀"'],
  ])('finds %s', (_name, text, source) => {
    expect(parseJson(bytes(text)).ok).toBe(true);
    expect(sourceIn(text, 'data')).toBe(source);
  });

  it('finds the value of JSON.parse, for any object and any white space', () => {
    const objects = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue(), {
      minKeys: 1,
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(objects, fc.constantFrom(undefined, 1, '\t'), fc.nat(), (object, space, pick) => {
        const text = JSON.stringify(object, null, space);
        const names = Object.keys(object);
        const name = names[pick % names.length] ?? '';
        const source = sourceIn(text, name);
        expect(JSON.parse(source ?? '')).toEqual(JSON.parse(JSON.stringify(object[name])));
        expect(text).toContain(source);
      }),
    );
  });
});
