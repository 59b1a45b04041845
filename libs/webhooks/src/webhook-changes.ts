import type { Keyring } from '@relay/keyring';
import { credentialOf } from './credential.js';
import { credentialHash, credentialHashes, openSecret, seal, sealCredential, type Place } from './sealing.js';
import { newSigningSecret } from './signing-secret.js';
import type { StoredRecord, StoredWebhook } from './stored-webhook.js';
import { namedAttributes, shownAttributes } from './webhook-attributes.js';
import { ENABLED, type Fresh, type WebhookChanges, type WebhookCommand } from './webhook-command.js';
import type { WebhookInput, WebhookPatch } from './webhook.js';

/** A registration whose URL is a permitted destination: `url` is its normalised form. */
export type WebhookDraft = WebhookInput & { readonly url: string; readonly origin: string };

/** A patch, with `url` and `origin` when it names another endPointUrl. */
export type PatchDraft = WebhookPatch & { readonly url?: string; readonly origin?: string };

/** Limits of one partner; without one of them the number is not limited. `perOrigin` counts one event type. */
export interface WebhookLimits {
  readonly perPartner?: number;
  readonly perOrigin?: number;
}

/** What seals a value: `iv` gives 12 fresh random bytes at every call. */
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
 * @param verified the version at which the draft leaves the endpoint as it is: the state then stays as well
 */
export function updateCommand(
  target: Place & { readonly only: boolean; readonly originLimit?: number },
  draft: WebhookDraft,
  seals: Seal,
  now: number,
  fresh: Fresh = ENABLED,
  verified?: number,
): WebhookCommand {
  const changes = { ...addressOf(draft), ...shownAttributes(draft), ...sealedOf(target, draft, seals) };
  return {
    kind: 'update',
    ...target,
    eventType: draft.eventType,
    at: now,
    ...(verified === undefined ? { changes: { ...changes, ...fresh } } : { changes, ifVersion: verified }),
  };
}

/** Changes what the patch names. `fresh` applies unless the endpoint stays the same. */
export function patchChanges(stored: StoredRecord, patch: PatchDraft, seals: Seal, fresh: Fresh): WebhookChanges {
  const { endPointUrl, url, origin } = patch;
  return {
    ...(isSameEndpoint(stored, patch, seals.keyring) ? {} : fresh),
    ...(endPointUrl === undefined || url === undefined || origin === undefined ? {} : { endPointUrl, url, origin }),
    ...namedAttributes(patch),
    ...(credentialOf(patch) === undefined ? {} : sealedOf(stored, patch, seals)),
  };
}

/** Another signing secret. The present one signs until `oldSecretUntil` as well, in epoch milliseconds. */
export function rotation(stored: StoredWebhook, signingKey: Buffer, seals: Seal, oldSecretUntil: number) {
  const secret = newSigningSecret(signingKey);
  const { secrets } = signedBy(stored, secret, seals);
  return { secret, changes: { secrets: [...secrets, ...presentSecret(stored, seals.keyring)], oldSecretUntil } };
}

/** Whether an active webhook keeps its URL and its credential, so that its endpoint needs no verification. */
export function isSameEndpoint(stored: StoredRecord, given: PatchDraft, keyring: Keyring): boolean {
  const credential = credentialOf(given);
  return (
    stored.status === 'active' &&
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

/** The present secret, unless no key opens it: it could sign nothing, and every attempt that has to open it would fail. */
function presentSecret(stored: StoredWebhook, keyring: Keyring): string[] {
  try {
    openSecret(stored, keyring);
    return stored.secrets.slice(0, 1);
  } catch {
    return [];
  }
}
