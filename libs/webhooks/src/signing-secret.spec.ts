import { newSigningSecret } from './signing-secret.js';

describe('newSigningSecret', () => {
  it('is whsec_ and the base64 of the bytes', () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    expect(newSigningSecret(Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64'))).toBe(secret);
  });

  it.each([0, 23, 65])('refuses %d bytes', (length) => {
    expect(() => newSigningSecret(Buffer.alloc(length))).toThrow(RangeError);
  });
});
