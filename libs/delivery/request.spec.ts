import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { newSigningSecret } from '@relay/webhooks';
import { Webhook } from 'standardwebhooks';
import { buildRequest, DELIVERY_HEADERS, deliveryHeaders, type Attempt, type Credential } from './request.js';

const SECRET = newSigningSecret(Buffer.alloc(32, 1));
const OLD_SECRET = newSigningSecret(Buffer.alloc(32, 2));
const NOW = Date.now();

const openedOf = (
  secrets: readonly string[],
  credential: Credential = { kind: 'apiKey', apiKey: 'k-1' },
): Attempt['opened'] => ({ secrets: () => secrets, credential: () => credential });

const anAttempt = (changes: Partial<Attempt> = {}): Attempt => ({
  webhook: { id: 'w', partnerId: 'p', url: 'https://partner.example/hooks?a=1' },
  opened: openedOf([SECRET]),
  body: Buffer.from('{"id":"…","n":12345678901234567890,"m":1.10}'),
  envelopeId: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
  eventType: 'task.created',
  attempt: 3,
  now: NOW,
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  version: '1.2.3',
  ...changes,
});

describe('buildRequest', () => {
  it('sends exactly the headers of the contract', () => {
    const { headers } = buildRequest(anAttempt());
    expect(headers).toEqual({
      'content-type': 'application/json',
      'user-agent': 'partner-relay/1.2.3',
      'webhook-id': 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
      'webhook-timestamp': String(Math.floor(NOW / 1_000)),
      'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
      'relay-event-type': 'task.created',
      'relay-attempt': '3',
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      'x-api-key': 'k-1',
    });
  });

  it('posts the bytes of the envelope to the URL as registered', () => {
    const attempt = anAttempt();
    const request = buildRequest(attempt);
    expect(request.method).toBe('POST');
    expect(request.url).toBe(attempt.webhook.url);
    expect(request.body).toBe(attempt.body);
  });

  it.each<[Credential, Record<string, string>]>([
    [{ kind: 'apiKey', apiKey: 'k:1' }, { 'x-api-key': 'k:1' }],
    [{ kind: 'jwt', jwt: 'a.b.c' }, { authorization: 'Bearer a.b.c' }],
    [
      { kind: 'basic', userName: 'Aladdin', password: 'open sesame' },
      { authorization: 'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==' },
    ],
    // RFC 7617 section 2.1: "test" and "123£" in UTF-8.
    [{ kind: 'basic', userName: 'test', password: '123£' }, { authorization: 'Basic dGVzdDoxMjPCow==' }],
    [{ kind: 'basic', userName: 'u', password: 'a:b' }, { authorization: 'Basic dTphOmI=' }],
  ])('presents the credential %j and no other', (credential, expected) => {
    const { headers } = buildRequest(anAttempt({ opened: openedOf([SECRET], credential) }));
    const presented = Object.entries(headers).filter(([name]) => name === 'x-api-key' || name === 'authorization');
    expect(Object.fromEntries(presented)).toEqual(expected);
  });

  it('omits traceparent when there is none', () => {
    expect(buildRequest(anAttempt({ traceparent: undefined })).headers).not.toHaveProperty('traceparent');
  });

  it.each([SECRET, OLD_SECRET])(
    'is verified by the official library with either secret while they rotate',
    (secret) => {
      const { headers, body } = buildRequest(anAttempt({ opened: openedOf([SECRET, OLD_SECRET]) }));
      expect(() => new Webhook(secret).verify(body.toString(), headers)).not.toThrow();
    },
  );

  it.each([
    [1_614_265_330_999, '1614265330'],
    [1_614_265_331_000, '1614265331'],
  ])('dates an attempt at %d with %s whole seconds', (now, seconds) => {
    expect(buildRequest(anAttempt({ now })).headers['webhook-timestamp']).toBe(seconds);
  });
});

describe('DELIVERY_HEADERS', () => {
  it('has the rows of docs/integrate/verify.md', () => {
    const [, table = ''] =
      /\n## What your endpoint receives\n.*?((?:\n\|[^\n]*)+)/s.exec(
        readFileSync('docs/integrate/verify.md', 'utf8'),
      ) ?? [];
    const rows = [...table.matchAll(/^\| (`.*?) +\| (.*?) +\|$/gm)].flatMap(([, names = '', says]) =>
      [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => [name, says] as const),
    );
    const known = DELIVERY_HEADERS.map(({ name, row }) => [name, row] as const);
    expect(rows.length).toBe(known.length);
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(known));
  });

  it('has forms that the headers of an attempt match', () => {
    const { headers } = buildRequest(anAttempt());
    expect(headers).toMatchObject(deliveryHeaders.parse(headers));
    expect(Object.keys(deliveryHeaders.parse(headers))).toHaveLength(6);
  });

  it('marks a test delivery with its last header, and no other delivery', () => {
    expect(Object.entries(buildRequest(anAttempt({ isTest: true })).headers).at(-1)).toEqual(['relay-test', 'true']);
    expect(buildRequest(anAttempt()).headers).not.toHaveProperty('relay-test');
  });

  it('is the order in which the headers are sent', () => {
    const sent = Object.keys(buildRequest(anAttempt()).headers);
    expect(sent).toEqual(DELIVERY_HEADERS.map(({ name }) => name).filter((name) => sent.includes(name)));
  });
});
