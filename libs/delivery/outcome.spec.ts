import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { errors } from 'undici';
import { classify, type AttemptError, httpFailure } from './outcome.js';
import { ProtocolFault } from './answer-reader.js';
import { UnwritableRequest } from './request.js';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const DAY_MS = 24 * 3_600_000;

const answered = (status: number, retryAfter?: string) =>
  classify({ kind: 'answered', status, retryAfter, durationMs: 12 }, NOW);

describe('classify', () => {
  it.each([200, 201, 202, 204, 206, 299])('classifies %d as delivered', (status) => {
    expect(answered(status)).toEqual({ kind: 'delivered', status });
  });

  it('classifies 410 as gone', () => {
    expect(answered(410)).toEqual({ kind: 'gone', status: 410 });
  });

  it.each([100, 199, 300, 301, 302, 304, 307, 308, 400, 401, 403, 404, 408, 409, 422, 429, 500, 502, 503, 504, 599])(
    'takes %d for failed',
    (status) => {
      expect(answered(status)).toEqual({
        kind: 'failed',
        status,
        detail: expect.stringContaining(`answered ${status}`),
      });
    },
  );

  it('explains that a redirect is not followed', () => {
    expect(answered(302)).toHaveProperty('detail', 'answered 302; redirects are not followed');
  });

  it.each<AttemptError>([
    'timeout',
    'connect-timeout',
    'dns',
    'tls',
    'reset',
    'refused',
    'egress-denied',
    'protocol',
    'unknown',
  ])('keeps the error %s of an attempt without an answer', (error) => {
    expect(classify({ kind: 'failed', error, detail: 'why', durationMs: 15_000 }, NOW)).toEqual({
      kind: 'failed',
      error,
      detail: 'why',
    });
  });
});

describe('Retry-After', () => {
  it.each([429, 503])('delays the next attempt after %d', (status) => {
    expect(answered(status, '120')).toHaveProperty('notBefore', NOW + 120_000);
  });

  it.each([200, 302, 400, 500, 502, 504])('means nothing after %d', (status) => {
    expect(answered(status, '120')).not.toHaveProperty('notBefore');
  });

  it.each([
    ['seconds', '1', NOW + 1_000],
    ['seconds with white space around', ' 30 ', NOW + 30_000],
    ['exactly the cap', '86400', NOW + DAY_MS],
    ['beyond the cap', '86401', NOW + DAY_MS],
    ['a huge number', '99999999999', NOW + DAY_MS],
    ['a number beyond all numbers', '9'.repeat(400), NOW + DAY_MS],
    ['a date', 'Sun, 01 Mar 2026 12:05:00 GMT', NOW + 300_000],
    ['a date in the form of RFC 850', 'Sunday, 01-Mar-26 12:05:00 GMT', NOW + 300_000],
    ["a date in the form of C's asctime", 'Sun Mar  1 12:05:00 2026', NOW + 300_000],
    ['a date beyond the cap', 'Sun, 01 Mar 2099 12:00:00 GMT', NOW + DAY_MS],
  ])('is read as %s', (_, header, notBefore) => {
    expect(answered(503, header)).toHaveProperty('notBefore', notBefore);
  });

  it.each([
    ['negative', '-1'],
    ['nothing', ''],
    ['zero', '0'],
    ['a word', 'abc'],
    ['a word that Date.parse would take for a date', 'abc 2027'],
    ['a date in none of the forms', '2 Mar 2026 12:00 GMT'],
    ['a fraction', '1.5'],
    ['an exponent', '1e3'],
    ['two values', '5, 10'],
    ['with a unit', '5s'],
    ['an ISO date', '2026-03-01T12:05:00Z'],
    ['a date in another zone', 'Sun, 01 Mar 2026 12:05:00 CET'],
    ['a date that does not exist', 'Sun, 01 Xyz 2026 12:05:00 GMT'],
    ['a date in the past', 'Sun, 01 Mar 2026 11:59:59 GMT'],
    ['the time now', 'Sun, 01 Mar 2026 12:00:00 GMT'],
  ])('is ignored when it is %s', (_, header) => {
    expect(answered(429, header)).toEqual({ kind: 'failed', status: 429, detail: 'answered 429' });
  });

  it('never yields a past time nor more than a day, whatever it contains', () => {
    const header = fc.oneof(
      fc.string(),
      fc.integer().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    fc.assert(
      fc.property(header, (text) => {
        const outcome = answered(429, text);
        const notBefore = outcome.kind === 'failed' ? (outcome.notBefore ?? NOW + 1) : Number.NaN;
        expect(notBefore).toBeGreaterThan(NOW);
        expect(notBefore).toBeLessThanOrEqual(NOW + DAY_MS);
      }),
    );
  });
});

describe('httpFailure', () => {
  it.each([
    ['ECONNREFUSED', 'refused'],
    ['EHOSTUNREACH', 'refused'],
    ['ENETUNREACH', 'refused'],
    ['ECONNRESET', 'reset'],
    ['EPIPE', 'reset'],
    ['ETIMEDOUT', 'connect-timeout'],
    ['ENOTFOUND', 'dns'],
    ['EGRESS_PROXY', 'refused'],
    ['EGRESS_DENIED', 'egress-denied'],
    ['CERT_HAS_EXPIRED', 'tls'],
    ['UNSPECIFIED', 'tls'],
    ['EHOSTDOWN', 'refused'],
    ['ENETDOWN', 'refused'],
    ['EPROTO', 'tls'],
    ['EMFILE', 'unknown'],
    ['UND_ERR_INVALID_ARG', 'unknown'],
  ])('names %s %s', (code, error) => {
    expect(httpFailure(Object.assign(new Error('told'), { code }))).toEqual({ error, detail: 'told' });
  });

  it.each([
    ['ENOTFOUND', 'the host name does not exist (ENOTFOUND)'],
    ['ENODATA', 'the host name has no address (ENODATA)'],
    ['ESERVFAIL', 'the name servers of the host name fail (ESERVFAIL)'],
    ['ETIMEOUT', 'no name server answered in time (ETIMEOUT)'],
    ['ECONNREFUSED', 'the name servers of the relay cannot be reached (ECONNREFUSED)'],
    ['EBADRESP', 'queryA EBADRESP e.example'],
  ])('names %s of a look-up dns', (code, detail) => {
    const fault = Object.assign(new Error(`queryA ${code} e.example`), { code, syscall: 'queryA' });
    expect(httpFailure(fault)).toEqual({ error: 'dns', detail });
  });

  it.each([
    ['connect', 'connect-timeout'],
    ['read', 'reset'],
    ['write', 'reset'],
  ])('names ETIMEDOUT of %s %s', (syscall, error) => {
    expect(httpFailure(Object.assign(new Error('told'), { code: 'ETIMEDOUT', syscall }))).toEqual({
      error,
      detail: 'told',
    });
  });

  it('tells of an error of OpenSSL its reason, not its line of source code', () => {
    const [code, reason] = ['ERR_SSL_BAD_EXTENSION', 'bad extension'];
    const fault = Object.assign(new Error(`40CD:error:0A:SSL routines:f:${reason}:../deps/a.c:9:`), { code, reason });
    expect(httpFailure(fault)).toEqual({ error: 'tls', detail: reason });
  });

  it('repeats no name of a certificate, which the endpoint chooses', () => {
    const said = "Host: e.example. is not in the cert's altnames: DNS:what-was-sent.example";
    const fault = Object.assign(new Error(said), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    expect(httpFailure(fault)).toEqual({ error: 'tls', detail: 'the certificate is for other names' });
  });

  it.each([
    [new errors.ConnectTimeoutError(), 'connect-timeout'],
    [new ProtocolFault('bad'), 'protocol'],
    [new UnwritableRequest('bad'), 'unknown'],
  ])('names what the connector, the reader and the writer throw: %s', (fault, error) => {
    expect(httpFailure(fault)).toEqual({ error, detail: fault.message });
  });

  it.each([
    [
      Object.assign(
        new AggregateError(
          ['ECONNREFUSED', 'ENETUNREACH', 'ECONNREFUSED'].map((code) => Object.assign(new Error(), { code })),
        ),
        { code: 'ECONNREFUSED' },
      ),
      { error: 'refused', detail: 'no address of the host name could be connected to (ECONNREFUSED, ENETUNREACH)' },
    ],
    [new Error('x'.repeat(5_000)), { error: 'unknown', detail: 'x'.repeat(200) }],
    [undefined, { error: 'unknown', detail: 'unknown error' }],
    ['text', { error: 'unknown', detail: 'unknown error' }],
    [
      { code: 42, message: null },
      { error: 'unknown', detail: 'unknown error' },
    ],
  ])('has a short text for every fault', (fault, failure) => {
    expect(httpFailure(fault)).toEqual(failure);
  });
});
