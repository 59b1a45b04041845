import { randomBytes } from 'node:crypto';
import { Canaries, stands } from './canaries.js';

const secret = Buffer.from(`planted/+${randomBytes(24).toString('base64')}`);
const canaries = new Canaries();
canaries.plant('planted', secret);

describe('the search for planted secrets', () => {
  it.each([
    ['plain', secret],
    ['base64', secret.toString('base64')],
    ['base64url', secret.toString('base64url')],
    ['base64 one byte inside a longer text', Buffer.from(`x${secret.toString()}yz`).toString('base64')],
    ['base64 two bytes inside a longer text', Buffer.from(`xy${secret.toString()}z`).toString('base64')],
    ['hex', secret.toString('hex')],
    ['HEX', secret.toString('hex').toUpperCase()],
    ['JSON as Lua writes it', JSON.stringify(secret.toString()).replaceAll('/', '\\/')],
    ['a part of a URL', encodeURIComponent(secret.toString())],
  ])('finds one as %s, between any bytes', (_name, form) => {
    const hay = Buffer.concat([randomBytes(1_000), Buffer.from('{"a":"'), Buffer.from(form), randomBytes(1_000)]);
    expect(canaries.in(hay)).toEqual(['planted']);
    expect(stands(secret.toString(), hay)).toBe(true);
  });

  it('finds none in a text without any, and takes no secret that chance can write', () => {
    expect(canaries.in(randomBytes(100_000))).toEqual([]);
    expect(canaries.in('planted/+')).toEqual([]);
    expect(() => canaries.plant('short', 'bob')).toThrow(RangeError);
  });
});
