import { buildRequest } from '@relay/delivery';
import { newSigningSecret } from '@relay/webhooks';
import { arrivalOf, lineOf, type Handled } from './arrival.js';

const [secret, other] = [1, 2].map((byte) => newSigningSecret(Buffer.alloc(32, byte))) as [string, string];
const body = Buffer.from('{"id":"e","type":"task.created","payload":{}}');
const NOW_S = 1_700_000_000;
const headersOf = (secrets: readonly string[]) =>
  buildRequest({
    url: 'http://127.0.0.1/',
    body,
    envelopeId: 'e',
    eventType: 'task.created',
    webhookId: 'w',
    attempt: 2,
    now: NOW_S * 1_000,
    secrets,
    credential: { kind: 'apiKey', apiKey: 'k' },
    version: '1',
  }).headers;

describe('arrivalOf', () => {
  it('knows the relay’s own request, also while secrets rotate', () => {
    const known = { id: 'e', type: 'task.created', attempt: 2, verified: true };
    expect(arrivalOf(headersOf([secret]), body, secret, NOW_S)).toEqual(known);
    expect(arrivalOf(headersOf([other, secret]), body, secret, NOW_S + 300)).toEqual(known);
  });

  it.each([
    ['other bytes', headersOf([secret]), Buffer.from('{}'), NOW_S, 'other bytes'],
    ['another secret', headersOf([other]), body, NOW_S, 'another secret'],
    ['an old signature', headersOf([secret]), body, NOW_S + 301, 'five minutes'],
    ['a signature from the future', headersOf([secret]), body, NOW_S - 301, 'five minutes'],
    ['another id', { ...headersOf([secret]), 'webhook-id': 'f' }, body, NOW_S, 'another secret'],
    ['no time', { ...headersOf([secret]), 'webhook-timestamp': 'now' }, body, NOW_S, 'no time'],
    ['no header at all', {}, body, NOW_S, 'no signature'],
  ])('does not verify %s', (_name, headers, bytes, nowS, why) => {
    expect(arrivalOf(headers, bytes, secret, nowS)).toMatchObject({
      verified: false,
      fault: expect.stringContaining(why),
    });
  });
});

it('tells an arrival in one line', () => {
  const arrival = arrivalOf(headersOf([secret]), body, secret, NOW_S);
  const handled: Handled = { ...arrival, at: '2026-01-01T00:00:00.000Z', status: 200, ms: 3 };
  expect(lineOf(handled)).toBe(
    '2026-01-01T00:00:00.000Z task.created e attempt 2, signature verified, answered 200 in 3 ms',
  );
  expect(lineOf({ ...handled, verified: false, fault: 'why', status: 502, unforwarded: 'nobody' })).toBe(
    '2026-01-01T00:00:00.000Z task.created e attempt 2, signature NOT verified (why), answered 502: nobody',
  );
});
