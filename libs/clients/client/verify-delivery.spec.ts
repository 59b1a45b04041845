import { randomBytes } from 'node:crypto';
import { signatureHeader } from '@relay/delivery';
import { newSigningSecret } from '@relay/webhooks';
import { verifyDelivery } from './verify-delivery.js';

const [SECRET = '', OTHER = ''] = [0, 1].map(() => newSigningSecret(randomBytes(32)));
const NOW = 1_795_200_000_000;
const BODY = '{"text":"Grüße, 東京 🌍"}';

const signed = (
  { secrets = [SECRET], id = 'e1', seconds = NOW / 1_000, body = BODY } = {},
  changes: Record<string, string | undefined> = {},
): Record<string, string | undefined> => ({
  'webhook-id': id,
  'webhook-timestamp': String(seconds),
  'webhook-signature': signatureHeader(secrets, id, seconds, Buffer.from(body)),
  ...changes,
});

describe('verifyDelivery', () => {
  it.each<[string, Parameters<typeof verifyDelivery>[0]]>([
    ["Node's headers", signed()],
    [
      'headers in other letter case',
      {
        'Webhook-Id': 'e1',
        'WEBHOOK-TIMESTAMP': String(NOW / 1_000),
        'webhook-Signature': signed()['webhook-signature'],
      },
    ],
    ["fetch's headers", new Headers(signed())],
    [
      'signatures of other versions beside ours',
      signed({}, { 'webhook-signature': `v1a,AAAA v2,BBBB ${signed()['webhook-signature']}` }),
    ],
    ['five minutes of age', signed({ seconds: NOW / 1_000 - 300 })],
    ['five minutes to come', signed({ seconds: NOW / 1_000 + 300 })],
  ])('takes %s', (_, headers) => {
    expect(verifyDelivery(headers, BODY, [OTHER, SECRET], NOW)).toMatchObject({ genuine: true, id: 'e1' });
  });

  it.each([
    ['no id', signed({}, { 'webhook-id': undefined }), 'header-missing'],
    ['no timestamp', signed({}, { 'webhook-timestamp': undefined }), 'header-missing'],
    ['no signature', signed({}, { 'webhook-signature': undefined }), 'header-missing'],
    ['an empty signature', signed({}, { 'webhook-signature': '' }), 'header-missing'],
    ['a timestamp that is no number', signed({}, { 'webhook-timestamp': '1e9' }), 'timestamp-invalid'],
    ['a timestamp of the past', signed({ seconds: NOW / 1_000 - 301 }), 'too-old'],
    ['a timestamp to come', signed({ seconds: NOW / 1_000 + 301 }), 'too-new'],
    ['another id', signed({}, { 'webhook-id': 'e2' }), 'no-matching-signature'],
    ['another timestamp', signed({}, { 'webhook-timestamp': String(NOW / 1_000 - 1) }), 'no-matching-signature'],
    ['another body', signed({ body: '{}' }), 'no-matching-signature'],
    ['a secret that is not ours', signed({ secrets: [OTHER] }), 'no-matching-signature'],
    [
      'half a signature',
      signed({}, { 'webhook-signature': signed()['webhook-signature']?.slice(0, 20) }),
      'no-matching-signature',
    ],
    [
      'our signature as another version',
      signed({}, { 'webhook-signature': `v2${signed()['webhook-signature']?.slice(2)}` }),
      'no-matching-signature',
    ],
  ])('refuses %s', (_, headers, reason) => {
    expect(verifyDelivery(headers, BODY, SECRET, NOW)).toEqual({ genuine: false, reason });
  });

  it.each([
    ['none', []],
    ['one without whsec_', SECRET.slice(6)],
    ['one that is not base64', `${SECRET.slice(0, -1)}!`],
    ['one of 23 bytes', `whsec_${Buffer.alloc(23).toString('base64')}`],
    ['one that is none beside a good one', [SECRET, 'whsec_']],
  ])('throws for %s as the secrets, without repeating it', (_, secrets) => {
    const verifying = () => verifyDelivery(signed(), BODY, secrets, NOW);
    expect(verifying).toThrow(RangeError);
    expect(verifying).not.toThrow(SECRET.slice(10));
  });

  it('takes the time of this machine unless given another', () => {
    const seconds = Math.floor(Date.now() / 1_000);
    expect(verifyDelivery(signed({ seconds }), BODY, SECRET)).toMatchObject({ genuine: true });
    expect(verifyDelivery(signed({ seconds: 1 }), BODY, SECRET)).toEqual({ genuine: false, reason: 'too-old' });
  });

  it.each([Number.NaN, Infinity, -Infinity])('throws for %p as the time: every attempt is new enough for it', (now) => {
    expect(() => verifyDelivery(signed({ seconds: 1 }), BODY, SECRET, now)).toThrow(RangeError);
  });
});
