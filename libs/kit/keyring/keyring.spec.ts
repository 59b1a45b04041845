import { randomBytes } from 'node:crypto';
import { Keyring, kidOf } from './index.js';

const key = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
const one = Keyring.parse(`a:${key(1)}`);
const rotated = Keyring.parse(`b:${key(2)},a:${key(1)}`);
const context = ['partner', 'webhook', 'apiKey'];
const iv = () => randomBytes(12);

describe('keyring', () => {
  it('opens its own records, and seals a text differently each time', () => {
    const [first, second] = [one.encrypt('geheim ü', context, iv()), one.encrypt('geheim ü', context, iv())];
    expect(one.decrypt(first, context)).toBe('geheim ü');
    expect(first).not.toBe(second);
    expect(first).toMatch(/^v1\.a\.[\w-]+$/);
    expect(first).not.toContain('geheim');
  });

  it('writes with the first key and reads with all', () => {
    expect(rotated.encrypt('x', context, iv())).toMatch(/^v1\.b\./);
    expect(rotated.decrypt(one.encrypt('x', context, iv()), context)).toBe('x');
    expect(() => one.decrypt(rotated.encrypt('x', context, iv()), context)).toThrow('No key b');
  });

  it.each([
    ['another partner', ['other', 'webhook', 'apiKey']],
    ['another webhook', ['partner', 'other', 'apiKey']],
    ['another field', ['partner', 'webhook', 'jwt']],
    ['the same text split elsewhere', ['partnerw', 'ebhook', 'apiKey']],
  ])('does not open a record moved to %s', (_, elsewhere) => {
    expect(() => one.decrypt(one.encrypt('x', context, iv()), elsewhere)).toThrow();
  });

  it('reads keys whatever white space a file or a shell leaves around them', () => {
    const [a, b] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)].map((raw) => raw.toString('base64'));
    const read = Keyring.parse(` a:${a}\n, b:${b}\r\n`);
    expect([...read.checks]).toEqual([...Keyring.parse(`a:${a},b:${b}`).checks]);
    expect(() => Keyring.parse(`a:${a},`)).toThrow('entry 2 is not');
  });

  it('says of a record that no key opens whether another process has the key', () => {
    const sealed = one.encrypt('x', context, iv());
    const lacks = Keyring.parse(`z:${Buffer.alloc(32, 9).toString('base64')}`);
    expect(() => lacks.decrypt(sealed, context)).toThrow(expect.objectContaining({ isElsewhere: false }));
    lacks.missing = new Set(['a']);
    expect(() => lacks.decrypt(sealed, context)).toThrow(expect.objectContaining({ isElsewhere: true }));
  });

  it('does not open a record that was changed', () => {
    const sealed = one.encrypt('x', context, iv());
    const changed = sealed.slice(0, -2) + (sealed.endsWith('AA') ? 'BB' : 'AA');
    expect(() => one.decrypt(changed, context)).toThrow();
  });

  it('does not open a record whose tag was cut', () => {
    const [head, encoded = ''] = one.encrypt('', context, iv()).split(/(?<=^v1\.a\.)/);
    const cut = Buffer.from(encoded, 'base64url')
      .subarray(0, 12 + 4)
      .toString('base64url');
    expect(() => one.decrypt(`${head}${cut}`, context)).toThrow();
  });

  it('hashes by key, context and secret, never by the configured key itself', () => {
    expect(one.hash('s', context)).toBe(one.hash('s', context));
    expect(one.hash('s', context)).not.toBe(one.hash('t', context));
    expect(one.hash('s', context)).not.toBe(one.hash('s', ['partner']));
    expect(rotated.hashes('s', context)).toContain(one.hash('s', context));
    expect(rotated.hash('s', context)).toMatch(/^b\./);
  });

  it('names its keys, and the key of a record or hash', () => {
    expect(rotated.kids).toEqual(['b', 'a']);
    const made = [one.encrypt('x.y', context, iv()), one.hash('x.y', context), rotated.hash('x.y', context)];
    expect(made.map(kidOf)).toEqual(['a', 'a', 'b']);
    expect(kidOf('neither')).toBe('');
  });

  it.each([
    ['no kid', key(1)],
    ['too short', `a:${Buffer.alloc(16).toString('base64')}`],
    ['a kid twice', `a:${key(1)},a:${key(2)}`],
    ['nothing', ''],
  ])('refuses %s without repeating it', (_, text) => {
    const message = expect.objectContaining({ message: expect.stringMatching(/^ENCRYPTION_KEYS(?!.*AQEB)/) });
    expect(() => Keyring.parse(text)).toThrow(message);
  });
});
