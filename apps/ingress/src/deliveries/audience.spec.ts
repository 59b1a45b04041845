import { audienceOf } from './received.js';

describe('audienceOf', () => {
  it.each([
    [undefined, [], []],
    ['partner_b', [], ['partner_b']],
    ['partner_b, partner_a,partner_b', [], ['partner_a', 'partner_b']],
    [undefined, ['p2', 'p1'], ['p1', 'p2']],
    ['p1', ['p2', 'p1'], ['p1']],
  ])('reads header %j of a source bound to %j as %j', (header, bound, audience) => {
    expect(audienceOf(header, bound, false)).toEqual(audience);
  });

  it.each([
    ['', []],
    [' , ', []],
    ['p1,', []],
    ['p 1', []],
    ['p"1', []],
    ['p1,p3', ['p1', 'p2']],
  ])('refuses header %j of a source bound to %j', (header, bound) => {
    expect(() => audienceOf(header, bound, false)).toThrow(expect.objectContaining({ code: 'invalid-request' }));
  });

  it('refuses everyone as audience where one is required', () => {
    expect(() => audienceOf(undefined, [], true)).toThrow(expect.objectContaining({ code: 'invalid-request' }));
    expect(audienceOf('p1', [], true)).toEqual(['p1']);
    expect(audienceOf(undefined, ['p1'], true)).toEqual(['p1']);
  });
});
