import { Keyring } from '@relay/keyring';
import { openSecrets, seal, sealCredential, newSigningSecret, rotation } from './webhook-changes.js';
import type { StoredWebhook } from './stored-webhooks.adapter.js';

describe('newSigningSecret', () => {
  it('is whsec_ and the base64 of the bytes', () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    expect(newSigningSecret(Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64'))).toBe(secret);
  });

  it.each([0, 23, 65])('refuses %d bytes', (length) => {
    expect(() => newSigningSecret(Buffer.alloc(length))).toThrow(RangeError);
  });
});

describe('rotation', () => {
  const keyring = Keyring.parse(`k1:${Buffer.alloc(32, 1).toString('base64')}`);
  const iv = (): Buffer => Buffer.alloc(12, 7);
  const place = { id: 'w1', partnerId: 'p1' };
  const HOUR_MS = 3_600_000;
  const NOW = 1_900_000_000_000;
  const fresh: StoredWebhook = {
    ...place,
    eventType: 'task.created',
    endPointUrl: 'https://e.example/a',
    url: 'https://e.example/a',
    origin: 'https://e.example',
    credential: sealCredential({ kind: 'jwt', jwt: 'j' }, place, keyring, iv),
    credentialHash: 'h',
    secrets: [seal('first', 'secret', place, keyring, iv)],
    status: 'active',
    createdAt: 1,
    updatedAt: 1,
    sequence: 1,
    version: 1,
  };
  const rotated = (stored: StoredWebhook, byte: number, now: number) => {
    const { secret, changes = {} } = rotation(stored, Buffer.alloc(24, byte), { keyring, iv }, now);
    const given = Object.entries(changes).filter(([, value]) => value !== null);
    const { olderSecretUntil: _, ...kept } = stored;
    return { secret, stored: { ...kept, ...Object.fromEntries(given) } as StoredWebhook };
  };

  it('repeated within 60 s answers the same secret and changes nothing', () => {
    const first = rotated(fresh, 1, NOW);
    expect(rotation(first.stored, Buffer.alloc(24, 2), { keyring, iv }, NOW + 59_999)).toEqual({
      secret: first.secret,
    });
    expect(rotated(first.stored, 2, NOW + 60_000).secret).not.toBe(first.secret);
  });

  it('keeps each former secret for its own 24 h, and three at most', () => {
    const one = rotated(fresh, 1, NOW);
    const two = rotated(one.stored, 2, NOW + HOUR_MS);
    const at = (hours: number, stored = two.stored) => openSecrets(stored, keyring, NOW + hours * HOUR_MS);
    expect(at(2)).toEqual([two.secret, one.secret, 'first']);
    expect(at(24)).toEqual([two.secret, one.secret]);
    expect(at(25)).toEqual([two.secret]);
    const three = rotated(two.stored, 3, NOW + 2 * HOUR_MS);
    expect(at(3, three.stored)).toEqual([three.secret, two.secret, one.secret]);
    const late = rotated(two.stored, 4, NOW + 24 * HOUR_MS);
    expect(at(24, late.stored)).toEqual([late.secret, two.secret, one.secret]);
    expect(at(25, late.stored)).toEqual([late.secret, two.secret]);
  });
});
