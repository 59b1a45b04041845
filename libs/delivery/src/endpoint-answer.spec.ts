import { answerText } from './endpoint-answer.js';
import type { Credential } from './request.js';

const apiKey = { kind: 'apiKey', apiKey: 'key/with+signs"of 1' } as const;
const SIGNING = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const textOf = (
  body: string | Buffer,
  contentType: string | undefined = 'text/plain',
  credential: Credential = apiKey,
) => answerText({ contentType, bytes: Buffer.from(body) }, credential, [SIGNING]);

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
    for (const part of [apiKey.apiKey, bearer.jwt, password, SIGNING, body.slice(-12, -2)])
      expect(shown).not.toContain(part);
  });

  it('never has the beginning of a secret that was cut off', () => {
    expect(textOf(`key: ${apiKey.apiKey.slice(0, 12)}`)).toBe('key: [redacted]');
  });

  it('leaves what only begins like a secret', () => {
    expect(textOf(`key: ${apiKey.apiKey.slice(0, 12)}, another`)).toBe(`key: ${apiKey.apiKey.slice(0, 12)}, another`);
  });
});
