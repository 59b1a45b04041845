import { generateKeyPairSync } from 'node:crypto';

/** A private key as `JWT_PRIVATE_KEYS` has it. */
export const aSigningKeyText = (kid = 'k1', namedCurve = 'P-256'): string => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve });
  return `${kid}:${privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')}`;
};
