import { generateKeyPairSync } from 'node:crypto';
import { parseSigningKeys, type SigningKey } from './access-tokens.js';

// For specs only.

/** A private key as `JWT_PRIVATE_KEYS` has it. */
export const aKeyText = (kid: string, namedCurve = 'P-256'): string => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve });
  return `${kid}:${privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')}`;
};

export const aSigningKey = (kid: string): SigningKey => parseSigningKeys(aKeyText(kid))[0];
