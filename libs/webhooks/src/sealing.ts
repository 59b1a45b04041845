import type { Keyring } from '@relay/keyring';
import type { Credential } from './credential.js';
import type { SealedCredential, StoredWebhook } from './stored-webhook.js';

/** The webhook that a sealed value belongs to; it opens for no other. */
export type Place = Pick<StoredWebhook, 'partnerId' | 'id'>;
export type Openable = Place & Pick<StoredWebhook, 'credential' | 'secrets' | 'oldSecretUntil' | 'olderSecretUntil'>;
type Field = 'apiKey' | 'jwt' | 'userName' | 'password' | 'secret';

const contextOf = (place: Place, field: Field): readonly string[] => [place.partnerId, place.id, field];

/** Seals one value for its place; `iv` brings 12 fresh random bytes at every call. */
export const seal = (text: string, field: Field, place: Place, keyring: Keyring, iv: () => Buffer): string =>
  keyring.encrypt(text, contextOf(place, field), iv());

export const sealCredential = (
  credential: Credential,
  place: Place,
  keyring: Keyring,
  iv: () => Buffer,
): SealedCredential => eachField(credential, (text, field) => seal(text, field, place, keyring, iv));

/** @throws CannotOpen when a key is missing or the record was changed or moved */
export const openCredential = (stored: Openable, keyring: Keyring): Credential =>
  eachField(stored.credential, (sealed, field) => keyring.decrypt(sealed, contextOf(stored, field)));

function eachField(credential: Credential, change: (value: string, field: Field) => string): Credential {
  if (credential.kind === 'apiKey') return { kind: 'apiKey', apiKey: change(credential.apiKey, 'apiKey') };
  if (credential.kind === 'jwt') return { kind: 'jwt', jwt: change(credential.jwt, 'jwt') };
  return {
    kind: 'basic',
    userName: change(credential.userName, 'userName'),
    password: change(credential.password, 'password'),
  };
}

/** The sealed secrets that sign at a time. An expired secret is never opened: its key may be lost. */
export function signingAt({ secrets, oldSecretUntil = Infinity, olderSecretUntil = Infinity }: Openable, now: number) {
  const ends = [Infinity, oldSecretUntil, olderSecretUntil];
  return secrets.filter((_, index) => now < (ends[index] ?? 0));
}

/** The secrets that sign at a time, the one in force first. @throws Error as `openCredential` */
export const openSecrets = (stored: Openable, keyring: Keyring, now: number): string[] =>
  signingAt(stored, now).map((sealed) => keyring.decrypt(sealed, contextOf(stored, 'secret')));

/** The secret in force. @throws Error as `openCredential` */
export const openSecret = (stored: Openable, keyring: Keyring): string =>
  keyring.decrypt(stored.secrets[0] ?? '', contextOf(stored, 'secret'));

/** The hash that finds a credential: under the writing key to store it, under every key to look it up. */
export const credentialHash = (credential: Credential, keyring: Keyring): string =>
  keyring.hash(...hashInput(credential));
export const credentialHashes = (credential: Credential, keyring: Keyring): string[] =>
  keyring.hashes(...hashInput(credential));

// Without the partner: a listing without a token has only the credential. A user name holds no colon.
function hashInput(credential: Credential): [string, readonly string[]] {
  const context = ['webhook-credential', credential.kind];
  if (credential.kind === 'apiKey') return [credential.apiKey, context];
  if (credential.kind === 'jwt') return [credential.jwt, context];
  return [`${credential.userName}:${credential.password}`, context];
}

// Standard Webhooks 1.0.0: a symmetric secret is `whsec_` and the base64 of 24 to 64 random bytes.
const [MIN_BYTES, MAX_BYTES] = [24, 64];

/**
 * The signing secret made of these random bytes.
 * @throws RangeError unless there are 24 to 64
 */
export function newSigningSecret(randomBytes: Buffer): string {
  const { length } = randomBytes;
  if (length < MIN_BYTES || length > MAX_BYTES)
    throw new RangeError(`a signing secret has ${length} bytes instead of ${MIN_BYTES} to ${MAX_BYTES}`);
  return `whsec_${randomBytes.toString('base64')}`;
}
