import { describe, expect, it } from '@jest/globals';
import { newSigningSecret } from '@relay/webhooks';
import { sign, signatureHeader } from './request.js';

// The printed example of Standard Webhooks 1.0.0.
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OTHER = newSigningSecret(Buffer.alloc(32, 7));
const ID = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
const BODY = Buffer.from('{"test": 2432232314}');
const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';

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
  it('contains one signature for each secret, the newest first', () => {
    expect(signatureHeader([SECRET, OTHER], ID, 1_614_265_330, BODY)).toBe(
      `${SIGNATURE} ${sign(OTHER, ID, 1_614_265_330, BODY)}`,
    );
  });

  it('refuses to sign with no secret', () => {
    expect(() => signatureHeader([], ID, 0, BODY)).toThrow(RangeError);
  });
});
