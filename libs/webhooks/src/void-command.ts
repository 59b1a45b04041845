import type { StoredRecord } from './stored-webhook.js';
import type { WebhookCommand } from './webhook-command.js';

/**
 * Whether an update leaves a webhook as it is. A credential is sealed differently each time, so that its hash is compared, which
 * works for hashes of one key.
 */
export function changesNothing(
  { changes, ifVersion }: Extract<WebhookCommand, { kind: 'update' }>,
  record: StoredRecord,
): boolean {
  if (ifVersion !== undefined && ifVersion !== record.version) return false;
  const { credential, credentialHash, secrets, oldSecretUntil, olderSecretUntil, ...plain } = changes;
  if ([secrets, oldSecretUntil, olderSecretUntil].some((each) => each !== undefined)) return false;
  if (credential !== undefined && credentialHash !== record.credentialHash) return false;
  const before: Readonly<Record<string, unknown>> = record;
  return Object.entries(plain).every(([name, value]) => (value ?? undefined) === before[name]);
}
