import { shownAnswer } from './endpoint-answer.js';
import type { Credential } from './request.js';

const apiKey = { kind: 'apiKey', apiKey: 'key/with+signs"of 1' } as const;
const SIGNING = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const textOf = (
  body: string | Buffer,
  contentType: string | undefined = 'text/plain',
  credential: Credential = apiKey,
) => shownAnswer({ contentType, head: 'HTTP/1.1 500 x', bytes: () => Buffer.from(body) }, credential, [SIGNING]).text;
const headersOf = (lines: string[], credential: Credential = apiKey) =>
  shownAnswer(
    { contentType: undefined, head: ['HTTP/1.1 500 x', ...lines].join('\r\n'), bytes: () => Buffer.alloc(0) },
    credential,
    [SIGNING],
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
  const basic = { kind: 'basic', userName: 'relay-user', password: 'correct horse' } as const;
  const { password, userName } = basic;
  it.each<[string, Credential, string]>([
    ['an API key', apiKey, apiKey.apiKey],
    ['one in JSON', apiKey, JSON.stringify({ 'x-api-key': apiKey.apiKey })],
    ['one in the JSON of another language', apiKey, JSON.stringify(apiKey.apiKey).replaceAll('/', String.raw`\/`)],
    ['one in a form', apiKey, `key=${encodeURIComponent(apiKey.apiKey)}`],
    ['one in hex', apiKey, Buffer.from(apiKey.apiKey).toString('hex').toUpperCase()],
    ['one in base64 of something longer', apiKey, Buffer.from(`a ${apiKey.apiKey} z`).toString('base64')],
    ['one in base64url of something longer', apiKey, Buffer.from(`ab ${apiKey.apiKey} z`).toString('base64url')],
    ['a token', bearer, `Bearer ${bearer.jwt}`],
    ['a Basic header', basic, `Basic ${Buffer.from(`${userName}:${password}`).toString('base64')}`],
    ['a password', basic, `wrong password: ${password}`],
    ['a signing secret', apiKey, `signed by ${SIGNING}`],
  ])('never has %s', (_, credential, body) => {
    const shown = textOf(`before ${body} behind`, 'text/plain', credential) ?? '';
    expect(shown).toMatch(/^before .*\[redacted\].* behind$/);
    const header = headersOf([`Server: before ${body} behind`], credential)?.['server'] ?? '';
    expect(header).toMatch(/^before .*\[redacted\].* behind$/);
    for (const part of [apiKey.apiKey, bearer.jwt, password, SIGNING, body.slice(-12, -2)])
      expect(shown + header).not.toContain(part);
  });

  it('never has the beginning of a secret that was cut off', () => {
    expect(textOf(`key: ${apiKey.apiKey.slice(0, 12)}`)).toBe('key: [redacted]');
  });

  it('leaves what only begins like a secret', () => {
    expect(textOf(`key: ${apiKey.apiKey.slice(0, 12)}, another`)).toBe(`key: ${apiKey.apiKey.slice(0, 12)}, another`);
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

  it('have at most 256 characters, and no secret that is cut there', () => {
    const value = `${'x'.repeat(250)} ${apiKey.apiKey}`;
    expect(headersOf([`via: ${value}`])).toEqual({ via: `${'x'.repeat(250)} [reda` });
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
