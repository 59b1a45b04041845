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

/** The webhook that a sealed value belongs to; it opens for no other. */
type Place = Pick<StoredWebhook, 'partnerId' | 'id'>;
type Signing = Pick<StoredWebhook, 'secrets' | 'oldSecretUntil' | 'olderSecretUntil'>;
export type Openable = Place & Signing & Pick<StoredWebhook, 'credential'>;
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

/** The secrets that sign at a time. An expired sealed secret is never opened: its key may be lost. */
export function signingAt({ secrets, oldSecretUntil = Infinity, olderSecretUntil = Infinity }: Signing, now: number) {
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

/** A registration whose URL is a permitted destination: `url` is its normalised form. */
export type WebhookDraft = Omit<WebhookInput, OptionalName> &
  Partial<Pick<WebhookInput, OptionalName>> & { readonly url: string; readonly origin: string };

/** A patch, with `url` and `origin` when it names another endPointUrl. */
export type PatchDraft = WebhookPatch & { readonly url?: string; readonly origin?: string };

/** Limits of one partner; without one of them the number is not limited. `perOrigin` counts one event type. */
export interface WebhookLimits {
  readonly perPartner?: number;
  readonly perOrigin?: number;
}

/** Seals values: `iv` gives 12 fresh random bytes at every call. */
export interface Seal {
  readonly keyring: Keyring;
  readonly iv: () => Buffer;
}

/** @param signingKey 32 random bytes; `now` is epoch milliseconds */
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
 * Replaces every attribute: one that the draft does not name is removed.
 * @param state as `stateChanges` gives it
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

/** A former secret signs for this time after the rotation that ended it, in milliseconds. */
const OVERLAP_MS = 24 * 3_600_000;
/** A rotation repeated within this time, in milliseconds, answers the same new secret: clients repeat a call that timed out. */
const REPEAT_MS = 60_000;

/**
 * Another signing secret, or the present one right after a rotation. Each former secret signs for its own 24 hours; at most three
 * secrets sign at a time.
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
 * Returns the effect of changed attributes on the state: none while the endpoint stays the same. Another URL or credential ends
 * `gone` and `failing`, which were about the former one, and no stop of a person: that endpoint is verified once the stop ends.
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
 * Returns the changes that disable a webhook; undefined if it is disabled for another reason, which it keeps. An operator's stop takes the place of
 * others, so that no partner ends it.
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
 * Whether a key opens a secret. A secret that no key opens signs nothing, and every delivery that has to open it waits.
 * @throws CannotOpen when another process opens it: it must not be thrown away
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
