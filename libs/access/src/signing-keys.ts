import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';

export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/**
 * The keys of `JWT_PRIVATE_KEYS`, `kid:base64 of PKCS #8 DER,…`, all EC P-256: the first signs, all verify, so that a key is
 * published before it signs and verifies until its last token has expired.
 * @throws Error naming the faulty entry by its position, never its value
 */
export function parseSigningKeys(text: string): readonly [SigningKey, ...SigningKey[]] {
  const keys = text.split(',').map((entry, index) => {
    const colon = entry.indexOf(':');
    const kid = entry.slice(0, Math.max(colon, 0)).trim();
    const privateKey = readKey(Buffer.from(entry.slice(colon + 1), 'base64'));
    if (!/^[\w-]{1,64}$/.test(kid) || privateKey?.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
      throw new Error(`JWT_PRIVATE_KEYS: entry ${index + 1} is not kid:base64 of a PKCS #8 EC P-256 key`);
    return { kid, privateKey, publicKey: createPublicKey(privateKey) };
  });
  const [first, ...rest] = keys;
  if (first === undefined || new Set(keys.map((key) => key.kid)).size !== keys.length)
    throw new Error('JWT_PRIVATE_KEYS: a kid occurs twice');
  return [first, ...rest];
}

function readKey(der: Buffer): KeyObject | undefined {
  try {
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  } catch {
    return undefined;
  }
}
