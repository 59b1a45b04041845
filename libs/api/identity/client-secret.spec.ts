import { randomBytes } from 'node:crypto';
import { Keyring } from '@relay/keyring';
import fc from 'fast-check';
import { type ClientRecord, formatSecret, hashOfSecret, isSecret, provenSecret } from './client.js';

const aKey = (kid: string): string => `${kid}:${randomBytes(32).toString('base64')}`;
const [first, second] = [aKey('e1'), aKey('e2')];
const keyring = Keyring.parse(first);
const aClient = (secretHashes: string[], disabled = false): ClientRecord => ({
  clientId: 'c',
  kind: 'partner',
  name: 'Acme',
  scopes: [],
  secretHashes,
  generation: 0,
  audience: [],
  disabled,
  createdAt: 0,
});

describe('formatSecret', () => {
  it('gives 256 random bits in letters that survive form-encoding, with a checksum', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('sk' as const, 'ak' as const),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        (kind, bytes) => {
          const secret = formatSecret(kind, Buffer.from(bytes));
          expect(secret).toMatch(new RegExp(`^relay_${kind}_[A-Za-z0-9_-]{49}$`));
          expect(isSecret(secret)).toBe(true);
          expect(isSecret(secret.replace(/.(?=.{20}$)/, (letter) => (letter === 'A' ? 'B' : 'A')))).toBe(false);
        },
      ),
    );
  });

  it.each(['', 'relay_sk_', `relay_sk_${'A'.repeat(49)}`, `relay_xx_${'A'.repeat(49)}`])('is not %j', (text) => {
    expect(isSecret(text)).toBe(false);
  });

  it('refuses fewer bits', () => {
    expect(() => formatSecret('sk', Buffer.alloc(16))).toThrow(RangeError);
  });
});

describe('provenSecret', () => {
  const hash = (secret: string): string => hashOfSecret(keyring, 'c', secret);
  it.each([
    ['the only secret', aClient([hash('s1')]), 's1', 0],
    ['the newer of two', aClient([hash('s2'), hash('s1')]), 's2', 0],
    ['the older of two', aClient([hash('s2'), hash('s1')]), 's1', 1],
    ['another secret', aClient([hash('s1')]), 's2', undefined],
    ['an empty secret', aClient([hash('s1')]), '', undefined],
    ['a hash for a secret', aClient([hash('s1')]), hash('s1'), undefined],
    ['any secret of a client without one', aClient([]), '', undefined],
    ['the secret of a disabled client', aClient([hash('s1')], true), 's1', undefined],
    ['any secret of no client', undefined, 's1', undefined],
  ])('judges %s', (_name, client, secret, place) => {
    expect(provenSecret(keyring, client, 'c', secret)).toBe(place);
  });

  it('does not take the secret of another client', () => {
    expect(provenSecret(keyring, aClient([hashOfSecret(keyring, 'd', 's1')]), 'c', 's1')).toBeUndefined();
  });

  it('takes a secret hashed under an older key, until that key is gone', () => {
    const client = aClient([hash('s1')]);
    expect(provenSecret(Keyring.parse(`${second},${first}`), client, 'c', 's1')).toBe(0);
    expect(provenSecret(Keyring.parse(second), client, 'c', 's1')).toBeUndefined();
  });
});
