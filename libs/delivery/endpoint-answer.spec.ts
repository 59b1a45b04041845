import { shownAnswer } from './endpoint-answer.js';
import type { Credential } from './request.js';

const apiKey = { kind: 'apiKey', apiKey: 'key/with+signs"of 1' } as const;
const SIGNING = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OLDER = 'whsec_QJz0nC1bqk2cPqv4mXh7oTgd5uVtN8yA';
const LEFT_OUT = 'left out: it repeats a credential';
const textOf = (
  body: string | Buffer,
  contentType: string | undefined = 'text/plain',
  credential: Credential = apiKey,
) =>
  shownAnswer({ contentType, head: 'HTTP/1.1 500 x', bytes: () => Buffer.from(body) }, credential, [SIGNING, OLDER])
    .text;
const headersOf = (lines: string[], credential: Credential = apiKey) =>
  shownAnswer(
    { contentType: undefined, head: ['HTTP/1.1 500 x', ...lines].join('\r\n'), bytes: () => Buffer.alloc(0) },
    credential,
    [SIGNING, OLDER],
  ).headers;

describe('the text of an answer', () => {
  it.each(['text/html; charset=utf-8', 'application/json', 'application/problem+json', 'APPLICATION/XML', undefined])(
    'is shown when it is %s',
    (contentType) => {
      expect(textOf('{"error":"no such täsk"}', contentType)).toBe('{"error":"no such täsk"}');
    },
  );

  it.each(['application/octet-stream', 'image/png', 'encoded', 'application/jsonish'])(
    'is not shown when it is %s',
    (type) => {
      expect(textOf('text', type)).toBeUndefined();
    },
  );

  it('is not shown when it is empty or has control characters', () => {
    for (const body of ['', 'a\0b', '\x1b[31mred']) expect(textOf(body)).toBeUndefined();
    expect(textOf('a\tb\r\nc')).toBe('a\tb\r\nc');
  });

  it('has at most 1,024 characters', () => {
    expect(textOf('x'.repeat(2_048))).toBe('x'.repeat(1_024));
  });

  const bearer = { kind: 'jwt', jwt: 'eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl' } as const;
  const basic = { kind: 'basic', userName: 'relay-user', password: 'correct hörse' } as const;
  const { password, userName } = basic;
  const key = apiKey.apiKey;
  const bytes = Buffer.from(key);
  const signing = Buffer.from(SIGNING.slice('whsec_'.length), 'base64');
  const other = Buffer.from('b1946ac92492d2347c6235b4d2611184', 'hex');
  const hex = signing.toString('hex').replaceAll(/../g, '$& ');
  it.each<[string, Credential, string | Buffer]>([
    ['an API key', apiKey, key],
    ['one in JSON', apiKey, JSON.stringify({ 'x-api-key': key })],
    ['one in JSON in JSON', apiKey, JSON.stringify({ message: JSON.stringify({ 'x-api-key': key }) })],
    ['one in the JSON of another language', apiKey, JSON.stringify(key).replaceAll('/', String.raw`\/`)],
    ['one in JSON in ASCII', apiKey, key.replace('/', String.raw`\u002f`).replace('+', String.raw`\u002B`)],
    ['one in a form', apiKey, `key=${encodeURIComponent(key)}`],
    ['one in percent of all bytes', apiKey, bytes.toString('hex').replaceAll(/../g, '%$&')],
    ['one in HTML', apiKey, '<p>key&sol;with&#43;signs&quot;of 1</p>'],
    ['one in hexadecimal entities', apiKey, bytes.toString('hex').replaceAll(/../g, '&#x$&;')],
    ['one in hex', apiKey, bytes.toString('hex').toUpperCase()],
    ['one in hex of mixed case with spaces', apiKey, '6b 65 79 2F 77 69 74 68 2b 73 69 67 6E 73'],
    ['one in base64 of something longer', apiKey, Buffer.from(`a ${key} z`).toString('base64')],
    ['one in base64 in lines', apiKey, bytes.toString('base64').replaceAll(/.{8}/g, '$&\r\n')],
    ['one in base64url of something longer', apiKey, Buffer.from(`ab ${key} z`).toString('base64url')],
    ['the beginning of one', apiKey, key.slice(0, 8)],
    ['the end of one', apiKey, key.slice(-8)],
    ['a token', bearer, `Bearer ${bearer.jwt}`],
    ['a Basic header', basic, `Basic ${Buffer.from(`${userName}:${password}`).toString('base64')}`],
    ['a password', basic, `wrong password: ${password}`],
    ['one in Latin-1', basic, Buffer.from(password, 'latin1')],
    ['a password of two characters', { ...basic, password: 'x+' }, 'wrong password: x+'],
    ['a signing secret', apiKey, `signed by ${SIGNING}`],
    ['a signing secret without its prefix', apiKey, SIGNING.slice('whsec_'.length)],
    ['the key of a signing secret', apiKey, `<Buffer ${hex}>`],
    ['the key of a signing secret as numbers', apiKey, JSON.stringify(signing)],
    ['the key of a signing secret as a Uint8Array', apiKey, JSON.stringify(new Uint8Array(signing))],
    ['the key of a signing secret as signed bytes', apiKey, JSON.stringify([...new Int8Array(signing)])],
    ['an older signing secret', apiKey, OLDER],
    ['the bytes of an API key in hex', { ...apiKey, apiKey: `sk_${other.toString('hex')}` }, other.toString('base64')],
    ['the bytes of one in base64', { ...apiKey, apiKey: other.toString('base64url') }, JSON.stringify(other)],
  ])('is left out with %s', (_, credential, said) => {
    const body = Buffer.concat([Buffer.from('before '), Buffer.from(said), Buffer.from(' behind')]);
    expect(textOf(body, 'text/plain', credential)).toBe(LEFT_OUT);
    const line = `server: ${body.toString('latin1').replaceAll(/[\r\n]+/g, '')}`;
    // A field with other bytes than ASCII is left out anyway.
    const shown = /[^\x20-\x7e]/.test(line) ? {} : { server: LEFT_OUT };
    expect(headersOf(['via: 1.1 here', line], credential)).toEqual({ via: '1.1 here', ...shown });
  });

  it('is shown with a user name, and with less than a piece of a secret', () => {
    for (const said of [`unknown user ${userName}`, Buffer.from(userName).toString('base64'), password.slice(0, 6)])
      expect(textOf(said, 'text/plain', basic)).toBe(said);
  });
});

describe('the header fields of an answer', () => {
  it('are the chosen ones, of a repeated one the first', () => {
    const lines = [
      'Date: now',
      'Set-Cookie: a=b',
      'RETRY-AFTER:5',
      'retry-after: 6',
      'x-request-id: \t7f ',
      'x-own: 1',
    ];
    expect(headersOf(lines)).toEqual({ date: 'now', 'retry-after': '5', 'x-request-id': '7f' });
    expect(headersOf(['set-cookie: a=b'])).toBeUndefined();
  });

  it('have at most 256 characters, and no beginning of a secret that goes on behind them', () => {
    expect(headersOf([`via: ${'x'.repeat(300)}`])).toEqual({ via: 'x'.repeat(256) });
    expect(headersOf([`via: ${'x'.repeat(252)} ${apiKey.apiKey}`])).toEqual({ via: LEFT_OUT });
  });

  it('have at most 1,024 characters together', () => {
    const lines = ['server', 'via', 'allow', 'location', 'date', 'cf-ray'].map(
      (name) => `${name}: ${name[0]?.repeat(250)}`,
    );
    const all = headersOf(lines) ?? {};
    expect(Object.values(all).map(({ length }) => length)).toEqual([250, 250, 250, 250, 24]);
  });

  it('are left out with a byte of which the encoding is not known', () => {
    const basic = { kind: 'basic', userName: 'bob', password: 'pässword' } as const;
    for (const encoding of ['utf8', 'latin1'] as const)
      expect(headersOf([`via: ${Buffer.from(basic.password, encoding).toString('latin1')}`], basic)).toBeUndefined();
  });
});
