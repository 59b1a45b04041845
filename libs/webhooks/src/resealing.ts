import { kidOf, type Keyring } from '@relay/keyring';
import { credentialHash, openCredential, openSecrets, seal, sealCredential } from './sealing.js';
import type { StoredWebhook } from './stored-webhook.js';
import type { WebhookChanges } from './webhook-command.js';

/** Names of the keys of a webhook's sealed values and hash. */
export function kidsOf({ credential, credentialHash: hash, secrets }: StoredWebhook): ReadonlySet<string> {
  const { kind: _kind, ...fields } = credential;
  return new Set([...Object.values(fields), hash, ...secrets].map(kidOf));
}

/**
 * The sealed values of a webhook under the writing key, without an expired secret; undefined when they are under it already.
 * Every value is opened in either case.
 * @throws Error when a key is missing, or the record was changed or moved
 */
export function resealed(
  stored: StoredWebhook,
  keyring: Keyring,
  now: number,
  iv: () => Buffer,
): WebhookChanges | undefined {
  const credential = openCredential(stored, keyring);
  const secrets = openSecrets(stored, keyring, now);
  if ([...kidsOf(stored)].every((kid) => kid === keyring.kids[0])) return undefined;
  return {
    credential: sealCredential(credential, stored, keyring, iv),
    credentialHash: credentialHash(credential, keyring),
    secrets: secrets.map((secret) => seal(secret, 'secret', stored, keyring, iv)),
  };
}
