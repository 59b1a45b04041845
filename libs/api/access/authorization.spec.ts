import fc from 'fast-check';
import { formDecode, readBasic, readBearer } from './index.js';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('readBasic', () => {
  it.each([
    [`Basic ${base64('a:b')}`, { user: 'a', password: 'b' }],
    [`basic   ${base64('a:b:c')} `, { user: 'a', password: 'b:c' }],
    [`BASIC ${base64(':')}`, { user: '', password: '' }],
    [`Basic ${base64('grüße:ü')}`, { user: 'grüße', password: 'ü' }],
    [`Basic ${base64('nocolon')}`, undefined],
    ['Basic', undefined],
    ['Basic a b', undefined],
    [`Bearer ${base64('a:b')}`, undefined],
    [undefined, undefined],
  ])('reads %j', (header, expected) => {
    expect(readBasic(header)).toEqual(expected);
  });

  it('splits at the first colon', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string(), (user, password) => {
        fc.pre(!user.includes(':'));
        expect(readBasic(`Basic ${base64(`${user}:${password}`)}`)).toEqual({ user, password });
      }),
    );
  });
});

describe('readBearer', () => {
  it.each([
    ['Bearer abc', 'abc'],
    ['bearer  a.b-c_d~e+f/g= ', 'a.b-c_d~e+f/g='],
    ['Bearer', undefined],
    ['Bearer a b', undefined],
    ['Bearer  ', undefined],
    ['Bearerabc', undefined],
    ['Basic abc', undefined],
    [undefined, undefined],
  ])('reads %j', (header, expected) => {
    expect(readBearer(header)).toBe(expected);
  });
});

describe('formDecode', () => {
  it.each([
    ['partner_a-b', 'partner_a-b'],
    ['partner%5Fa%2Db', 'partner_a-b'],
    ['%zz', undefined],
    ['%ff', undefined],
  ])('reads %j', (text, expected) => {
    expect(formDecode(text)).toBe(expected);
  });
});
