import type { ClientRecord } from '@relay/identity';
import { kidOf } from '@relay/keyring';
import { fault, ok, warning, type Finding } from './finding.js';

/** The records that need an older key. */
export interface KeyUse {
  readonly key: string;
  readonly webhooks: readonly string[];
  /** Clients whose secret this key hashed; only the secret itself can make a new hash. */
  readonly clients: readonly string[];
}

/** The use of each older key. A disabled client cannot use its secrets and needs none. */
export function usesOf(
  older: readonly string[],
  webhooks: ReadonlyMap<string, ReadonlySet<string>>,
  clients: readonly ClientRecord[],
): KeyUse[] {
  return older.map((key) => ({
    key,
    webhooks: [...(webhooks.get(key) ?? [])],
    clients: clients
      .filter(({ disabled, secretHashes, credential }) => {
        const hashes = credential === undefined ? secretHashes : [credential.hash];
        return !disabled && hashes.some((hash) => kidOf(hash) === key);
      })
      .map(({ clientId }) => clientId),
  }));
}

export const isDispensable = ({ webhooks, clients }: KeyUse): boolean => webhooks.length === 0 && clients.length === 0;

const counted = (count: number, one: string): string => `${count} ${count === 1 ? one : `${one}s`}`;

/** Whether an older key can be removed, as a clause without a full stop. */
export function useText(use: KeyUse): string {
  if (isDispensable(use)) return `${use.key} is no longer needed: remove it from ENCRYPTION_KEYS`;
  const { webhooks, clients } = use;
  const users = [
    ...(webhooks.length === 0 ? [] : [`${counted(webhooks.length, 'webhook')}, such as ${webhooks[0]}`]),
    ...(clients.length === 0 ? [] : [`secrets of ${counted(clients.length, 'client')}, such as ${clients[0]}`]),
  ];
  return `${use.key} is still needed for ${users.join('; and for ')}`;
}

export const useFix = ({ webhooks }: KeyUse): string =>
  webhooks.length > 0
    ? 'run `relay keys rotate`'
    : 'a secret moves to the first key when it is used; a secret that is no longer used ends with the key';

export const useFinding = (use: KeyUse): Finding =>
  isDispensable(use) ? ok('older keys', useText(use)) : warning('older keys', useText(use), useFix(use));

/** Whether the present keys open every stored record. */
export function storedFinding(check: string, records: readonly { name: string; opens: boolean }[]): Finding {
  const closed = records.filter(({ opens }) => !opens);
  const [first] = closed;
  if (first === undefined) return ok(check, `${records.length} of ${records.length} can be read`);
  return fault(
    check,
    `${closed.length} of ${records.length} cannot be read, such as ${first.name}`,
    'put the key that sealed them back into ENCRYPTION_KEYS, behind the first; if it is lost, docs/security.md says how to replace them',
  );
}
