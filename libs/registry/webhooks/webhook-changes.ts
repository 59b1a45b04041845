import { CannotOpen, type Keyring } from '@relay/keyring';
import { credentialOf, type Credential } from './credential.js';
import {
  ENABLED,
  type Fresh,
  type SealedCredential,
  type StoredRecord,
  type StoredWebhook,
  UNVERIFIED,
  type WebhookChanges,
  type WebhookCommand,
} from './stored-webhooks.adapter.js';
import { namedAttributes, shownAttributes } from './webhook.js';
import type { OptionalName, WebhookInput, WebhookPatch } from './webhook.js';

/** The webhook that a sealed value belongs to. The value cannot be decrypted for another webhook. */
type Place = Pick<StoredWebhook, 'partnerId' | 'id'>;
type Signing = Pick<StoredWebhook, 'secrets' | 'oldSecretUntil' | 'olderSecretUntil'>;
export type Openable = Place & Signing & Pick<StoredWebhook, 'credential'>;
type Field = 'apiKey' | 'jwt' | 'userName' | 'password' | 'secret';

const contextOf = (place: Place, field: Field): readonly string[] => [place.partnerId, place.id, field];

/** Encrypts one value for a field of a webhook; `iv` returns 12 fresh random bytes at every call. */
export const seal = (text: string, field: Field, place: Place, keyring: Keyring, iv: () => Buffer): string =>
  keyring.encrypt(text, contextOf(place, field), iv());

export const sealCredential = (
  credential: Credential,
  place: Place,
  keyring: Keyring,
  iv: () => Buffer,
): SealedCredential => eachField(credential, (text, field) => seal(text, field, place, keyring, iv));

/** @throws CannotOpen if a key is missing, or if the record was altered or belongs to another webhook */
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

/**
 * Returns the secrets that sign at `now`, still sealed. Expired secrets are never decrypted, because their key may be lost.
 */
export function signingAt({ secrets, oldSecretUntil = Infinity, olderSecretUntil = Infinity }: Signing, now: number) {
  const ends = [Infinity, oldSecretUntil, olderSecretUntil];
  return secrets.filter((_, index) => now < (ends[index] ?? 0));
}

/** Returns the secrets that sign at `now` in clear text, the one in force first. @throws CannotOpen as `openCredential` */
export const openSecrets = (stored: Openable, keyring: Keyring, now: number): string[] =>
  signingAt(stored, now).map((sealed) => keyring.decrypt(sealed, contextOf(stored, 'secret')));

/** Returns the secret in force in clear text. @throws CannotOpen as `openCredential` */
export const openSecret = (stored: Openable, keyring: Keyring): string =>
  keyring.decrypt(stored.secrets[0] ?? '', contextOf(stored, 'secret'));

/** Returns the hash that is stored with a credential, made with the writing key. */
export const credentialHash = (credential: Credential, keyring: Keyring): string =>
  keyring.hash(...hashInput(credential));
/** Returns the hashes by which a credential is found, one for every key. */
export const credentialHashes = (credential: Credential, keyring: Keyring): string[] =>
  keyring.hashes(...hashInput(credential));

// The partner is no part of the hash, because a request without a token contains only the credential. A user name contains
// no colon, so two different pairs never give the same text.
function hashInput(credential: Credential): [string, readonly string[]] {
  const context = ['webhook-credential', credential.kind];
  if (credential.kind === 'apiKey') return [credential.apiKey, context];
  if (credential.kind === 'jwt') return [credential.jwt, context];
  return [`${credential.userName}:${credential.password}`, context];
}

// Standard Webhooks 1.0.0: a symmetric secret is `whsec_` and the base64 of 24 to 64 random bytes.
const [MIN_BYTES, MAX_BYTES] = [24, 64];

/**
 * Returns the signing secret made of these random bytes.
 * @throws RangeError unless there are 24 to 64 bytes
 */
export function newSigningSecret(randomBytes: Buffer): string {
  const { length } = randomBytes;
  if (length < MIN_BYTES || length > MAX_BYTES)
    throw new RangeError(`a signing secret has ${length} bytes instead of ${MIN_BYTES} to ${MAX_BYTES}`);
  return `whsec_${randomBytes.toString('base64')}`;
}

/** A registration whose URL is a permitted destination. `url` is the normalised form of this URL. */
export type WebhookDraft = Omit<WebhookInput, OptionalName> &
  Partial<Pick<WebhookInput, OptionalName>> & { readonly url: string; readonly origin: string };

/** A patch. It has `url` and `origin` if it names an endPointUrl. */
export type PatchDraft = WebhookPatch & { readonly url?: string; readonly origin?: string };

/**
 * Limits for one partner. Without a limit, the number of webhooks is not limited. `perOrigin` applies to each event type.
 */
export interface WebhookLimits {
  readonly perPartner?: number;
  readonly perOrigin?: number;
}

/** The means to seal values; `iv` returns 12 fresh random bytes at every call. */
export interface Seal {
  readonly keyring: Keyring;
  readonly iv: () => Buffer;
}

/** Returns the command that registers a webhook. `signingKey` has 32 random bytes; `now` is in epoch milliseconds. */
export function registerCommand(
  place: Place,
  draft: WebhookDraft,
  { perPartner = Number.MAX_SAFE_INTEGER, perOrigin }: WebhookLimits,
  seals: Seal,
  { signingKey, now }: { readonly signingKey: Buffer; readonly now: number },
  { status, disabledReason }: Fresh = ENABLED,
): WebhookCommand {
  return {
    kind: 'register',
    limit: perPartner,
    ...(perOrigin === undefined ? {} : { originLimit: perOrigin }),
    webhook: {
      partnerId: place.partnerId,
      id: place.id,
      eventType: draft.eventType,
      ...addressOf(draft),
      ...sealedOf(place, draft, seals),
      ...namedAttributes(draft),
      ...signedBy(place, newSigningSecret(signingKey), seals),
      status,
      ...(disabledReason === null ? {} : { disabledReason }),
      createdAt: now,
      updatedAt: now,
    },
  };
}

/**
 * Returns the command that replaces every attribute. An optional attribute that the draft does not name is removed.
 * @param state the changes of the state that `stateChanges` returns
 */
export function updateCommand(
  target: Place & { readonly only: boolean; readonly originLimit?: number; readonly ifVersion?: number },
  draft: WebhookDraft,
  seals: Seal,
  now: number,
  state: WebhookChanges = {},
): WebhookCommand {
  const changes = { ...addressOf(draft), ...shownAttributes(draft), ...sealedOf(target, draft, seals), ...state };
  return { kind: 'update', ...target, eventType: draft.eventType, at: now, changes };
}

export function patchChanges(stored: StoredRecord, patch: PatchDraft, seals: Seal, fresh: Fresh): WebhookChanges {
  const { endPointUrl, url, origin } = patch;
  return {
    ...stateChanges(stored, patch, seals.keyring, fresh),
    ...(endPointUrl === undefined || url === undefined || origin === undefined ? {} : { endPointUrl, url, origin }),
    ...namedAttributes(patch),
    ...(credentialOf(patch) === undefined ? {} : sealedOf(stored, patch, seals)),
  };
}

/** Time for which a former secret still signs after a rotation, in milliseconds. */
const OVERLAP_MS = 24 * 3_600_000;
/**
 * A rotation that is repeated within this time, in milliseconds, returns the same secret: clients repeat a call that timed
 * out.
 */
const REPEAT_MS = 60_000;

/**
 * Returns a new signing secret, or the present secret if it was rotated just before. Each former secret signs for its own 24
 * hours. At most three secrets sign at a time.
 */
export function rotation(
  stored: StoredWebhook,
  signingKey: Buffer,
  seals: Seal,
  now: number,
): { readonly secret: string; readonly changes?: WebhookChanges } {
  const { keyring } = seals;
  const [present, former] = signingAt(stored, now);
  const isReadable = present !== undefined && opens(stored, present, keyring);
  if (isReadable && now < (stored.oldSecretUntil ?? 0) - OVERLAP_MS + REPEAT_MS)
    return { secret: openSecret(stored, keyring) };
  const secret = newSigningSecret(signingKey);
  const secrets = [...signedBy(stored, secret, seals).secrets, ...(isReadable ? [present] : [])];
  const oldSecretUntil = now + OVERLAP_MS;
  if (!isReadable || former === undefined || stored.oldSecretUntil === undefined || !opens(stored, former, keyring))
    return { secret, changes: { secrets, oldSecretUntil, olderSecretUntil: null } };
  const olderSecretUntil = stored.oldSecretUntil;
  return { secret, changes: { secrets: [...secrets, former], oldSecretUntil, olderSecretUntil } };
}

/**
 * Returns how changed attributes change the state of a webhook. If URL and credential stay the same, the state stays too. A
 * new URL or credential ends the reasons `gone` and `failing`, which were about the former endpoint. A webhook that a person
 * disabled stays disabled; if endpoints must be verified, its new endpoint is verified once the webhook is enabled.
 */
export function stateChanges(stored: StoredRecord, given: PatchDraft, keyring: Keyring, fresh: Fresh): WebhookChanges {
  if (isSameEndpoint(stored, given, keyring) || stored.disabledReason === 'unverified') return {};
  if (stored.disabledReason === 'partner' || stored.disabledReason === 'operator')
    return fresh.status === 'active' ? {} : { isUntested: true };
  return fresh;
}

/** Returns the changes that enable a webhook. An endpoint that was never verified must be verified first. */
export const enabling = ({ isUntested }: StoredRecord): WebhookChanges =>
  isUntested === true ? { ...UNVERIFIED, isUntested: null } : ENABLED;

/**
 * Returns the changes that disable a webhook. Returns undefined if it is disabled already, so that it keeps its reason.
 * There is one exception: `operator` replaces any other reason, so that no partner can enable the webhook.
 */
export function disabling(
  { status, disabledReason, isUntested }: StoredRecord,
  reason: string,
): WebhookChanges | undefined {
  if (status === 'disabled' && (reason !== 'operator' || disabledReason === 'operator')) return undefined;
  const wasUntested = isUntested === true || disabledReason === 'unverified';
  return { status: 'disabled', disabledReason: reason, ...(wasUntested ? { isUntested: true } : {}) };
}

function isSameEndpoint(stored: StoredRecord, given: PatchDraft, keyring: Keyring): boolean {
  const credential = credentialOf(given);
  return (
    (given.url === undefined || given.url === stored.url) &&
    (credential === undefined || credentialHashes(credential, keyring).includes(stored.credentialHash))
  );
}

const addressOf = ({ endPointUrl, url, origin }: WebhookDraft) => ({ endPointUrl, url, origin });

function sealedOf(place: Place, given: Parameters<typeof credentialOf>[0], { keyring, iv }: Seal) {
  const credential = credentialOf(given);
  if (credential === undefined) throw new TypeError('A webhook without a credential passed validation');
  return {
    credential: sealCredential(credential, place, keyring, iv),
    credentialHash: credentialHash(credential, keyring),
  };
}

const signedBy = (place: Place, secret: string, { keyring, iv }: Seal) => ({
  secrets: [seal(secret, 'secret', place, keyring, iv)],
});

/**
 * Whether a key decrypts a secret. A secret that cannot be decrypted signs nothing, and every delivery that needs it waits.
 * @throws CannotOpen if another process can decrypt the secret, because it must be kept in this case
 */
function opens(stored: StoredWebhook, secret: string, keyring: Keyring): boolean {
  try {
    openSecret({ ...stored, secrets: [secret] }, keyring);
    return true;
  } catch (error) {
    if (error instanceof CannotOpen && error.isElsewhere) throw error;
    return false;
  }
}
