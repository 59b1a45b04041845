import { crc32 } from 'node:zlib';
import { timingSafeEqual } from 'node:crypto';
import type { Keyring } from '@relay/keyring';
import type { ClientRecord, CredentialType } from './client.js';

const SECRET_BYTES = 32;

/**
 * Returns a secret that scanners recognise: `relay_sk_` (client secret) or `relay_ak_` (API key), 256 random bits, and a CRC-32
 * of the text before it, by which a scanner distinguishes a leaked secret from a look-alike without asking the relay. It has only
 * letters, digits, `_` and `-`, which stay the same if an OAuth library form-encodes Basic credentials.
 * @param random 32 random bytes
 */
export function formatSecret(kind: 'sk' | 'ak', random: Buffer): string {
  if (random.length !== SECRET_BYTES) throw new RangeError('32 random bytes are expected');
  const body = `relay_${kind}_${random.toString('base64url')}`;
  return body + checksumOf(body);
}

/** Whether a text has the form and checksum of a secret of the relay, even if no client has this secret. */
export const isSecret = (text: string): boolean =>
  /^relay_[sa]k_[\w-]{49}$/.test(text) && text.slice(-6) === checksumOf(text.slice(0, -6));

function checksumOf(body: string): string {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return sum.toString('base64url');
}

export const hashOfSecret = (keyring: Keyring, clientId: string, secret: string): string =>
  keyring.hash(secret, ['client-secret', clientId]);

/** Returns the possible stored hashes of a client secret: under each key, the writing key first. */
export const hashesOfSecret = (keyring: Keyring, clientId: string, secret: string): string[] =>
  keyring.hashes(secret, ['client-secret', clientId]);

/** Returns the possible stored hashes of a fixed credential: under each key, the writing key first. */
export const hashesOfCredential = (keyring: Keyring, type: CredentialType, credential: string): string[] =>
  keyring.hashes(credential, ['source-credential', type]);

/**
 * Returns the index of this secret in the client's record; undefined if it is not valid. Does the same work for an unknown client
 * as for a wrong secret.
 */
export function provenSecret(
  keyring: Keyring,
  client: ClientRecord | undefined,
  clientId: string,
  secret: string,
): number | undefined {
  const stored = [...(client?.secretHashes ?? []), '', ''].slice(0, 2);
  let proven: number | undefined;
  for (const hash of hashesOfSecret(keyring, clientId, secret)) {
    const given = Buffer.from(hash);
    for (const [place, candidate] of stored.entries()) {
      // Both have the same length, because timingSafeEqual refuses different ones. A hash is never empty.
      const known = Buffer.alloc(given.length);
      known.write(candidate);
      const equal = timingSafeEqual(given, known) && candidate.length === hash.length;
      if (equal) proven = place;
    }
  }
  return client === undefined || client.disabled ? undefined : proven;
}

// Every secret of a client has a generation, and a token carries the generation of the secret for which it was issued. So the end
// of a token needs no clock: hosts' clocks differ, and a process that learns of a change two seconds late still issues tokens.

type Secrets = Pick<ClientRecord, 'generation' | 'secretHashes'>;

/** Returns the generation of a live secret by its index in the record, which begins with the newest. */
export const generationAt = ({ generation }: Secrets, place: number): number => generation - place;

/** Whether tokens of this generation are valid, because their secret is. */
export const isLiveGeneration = (client: Secrets, generation: number): boolean =>
  generation >= generationAt(client, Math.max(0, client.secretHashes.length - 1));

/** Returns the client with a new secret. It keeps its newest former secret, or none. */
export function withNewSecret<T extends Secrets>(client: T, hash: string, keptBefore: 0 | 1): T {
  const secretHashes = [hash, ...client.secretHashes.slice(0, keptBefore)];
  return { ...client, secretHashes, generation: generationAt(client, -1) };
}

/** Returns the client with the same secrets under new generations, which ends all tokens issued for them. */
export const withoutTokens = <T extends Secrets>(client: T): T => ({
  ...client,
  generation: generationAt(client, -Math.max(1, client.secretHashes.length)),
});
