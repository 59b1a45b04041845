import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { newSigningSecret, sign, signatureHeader } from './signature.js';

// The printed example of Standard Webhooks 1.0.0.
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OTHER = newSigningSecret(Buffer.alloc(32, 7));
const ID = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
const BODY = Buffer.from('{"test": 2432232314}');
const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
/** Any character; fast-check's own unit `binary` takes a second to set up. */
const character = fc
  .oneof(fc.nat(0x7f), fc.nat(0x10ffff))
  .map((point) => Buffer.from(String.fromCodePoint(point)).toString());

describe('sign', () => {
  it("gives the specification's example", () => {
    expect(sign(SECRET, ID, 1_614_265_330, BODY)).toBe(SIGNATURE);
  });

  it.each([
    ['without the prefix', SECRET.slice(6)],
    ['with another prefix', SECRET.replace('whsec_', 'whpk_')],
    ['with a character that is not base64', `${SECRET.slice(0, -1)}!`],
    ['with a line break', `${SECRET}\n`],
    ['of 23 bytes', `whsec_${Buffer.alloc(23).toString('base64')}`],
    ['of 65 bytes', `whsec_${Buffer.alloc(65).toString('base64')}`],
  ])('refuses a secret %s, without repeating it', (_, secret) => {
    const signing = () => sign(secret, ID, 0, BODY);
    expect(signing).toThrow(RangeError);
    expect(signing).not.toThrow(secret);
  });

  it.each(['', 'whsec_'])('refuses %p as a secret', (secret) => {
    expect(() => sign(secret, ID, 0, BODY)).toThrow(RangeError);
  });
});

describe('signatureHeader', () => {
  it('holds one signature for each secret, the newest first', () => {
    expect(signatureHeader([SECRET, OTHER], ID, 1_614_265_330, BODY)).toBe(
      `${SIGNATURE} ${sign(OTHER, ID, 1_614_265_330, BODY)}`,
    );
  });

  it('refuses to sign with no secret', () => {
    expect(() => signatureHeader([], ID, 0, BODY)).toThrow(RangeError);
  });

  it('is verified by the official library for any JSON body, with the new and with the old secret', () => {
    const secret = fc.uint8Array({ minLength: 24, maxLength: 64 }).map((bytes) => newSigningSecret(Buffer.from(bytes)));
    const body = fc.json({ stringUnit: character, maxDepth: 3 });
    fc.assert(
      fc.property(fc.uuid(), secret, secret, body, (id, newest, old, text) => {
        const seconds = Math.floor(Date.now() / 1_000);
        const headers = {
          'webhook-id': id,
          'webhook-timestamp': String(seconds),
          'webhook-signature': signatureHeader([newest, old], id, seconds, Buffer.from(text)),
        };
        for (const each of [newest, old]) expect(new Webhook(each).verify(text, headers)).toEqual(JSON.parse(text));
        expect(() => new Webhook(newest).verify(`${text} `, headers)).toThrow('No matching signature');
      }),
      { numRuns: 300 },
    );
  });
});

describe('newSigningSecret', () => {
  it('is whsec_ and the base64 of the bytes', () => {
    expect(newSigningSecret(Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64'))).toBe(SECRET);
  });

  it.each([0, 23, 65])('refuses %d bytes', (length) => {
    expect(() => newSigningSecret(Buffer.alloc(length))).toThrow(RangeError);
  });
});
