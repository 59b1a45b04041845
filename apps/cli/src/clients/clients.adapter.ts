import { randomBytes } from 'node:crypto';
import { Audit } from '@relay/audit';
import {
  type ClientAudit,
  type ClientCommand,
  type ClientKind,
  Clients,
  type ClientStore,
  RedisClientStore,
  roleOf,
} from '@relay/identity';
import { assertShared, keyringOf } from '../keyring.adapter.js';
import { withRegistry } from '../registry.adapter.js';
import type { Shell } from '../shell.js';

type Work<T> = (clients: Clients, store: ClientStore) => Promise<T>;

/** Opens the clients for `work`. */
export function withClients<T>(shell: Shell, work: Work<T>, before: typeof assertShared = never): Promise<T> {
  const keyring = keyringOf(shell);
  return withRegistry(shell, async ({ redis, registry, publisher, settings }) => {
    await before(keyring, redis);
    const store = new RedisClientStore(redis, registry.of<ClientCommand>('client'));
    const audit = new Audit(publisher, settings.KAFKA_TOPIC_PREFIX, Date.now);
    const tell: ClientAudit = (event, { clientId, kind, name, scopes }, formerRole) => {
      const roles = kind === 'operator' ? { role: roleOf(scopes), formerRole } : {};
      return audit.report({ event, operator: `relay ${kind}s`, clientId, kind, name, ...roles });
    };
    return work(new Clients(store, keyring, randomBytes, Date.now, tell), store);
  });
}

const never = (): Promise<void> => Promise.resolve();

/** The same for `work` that issues secrets. @throws Error when no ingress could tell the secret */
export const withIssuing = <T>(shell: Shell, work: Work<T>): Promise<T> => withClients(shell, work, assertShared);

/** @throws Error when there is no client of this kind with the id */
export async function assertKind(store: ClientStore, kind: ClientKind, clientId: string): Promise<void> {
  if ((await store.find(clientId))?.kind !== kind)
    throw new Error(`There is no ${kind} ${clientId}: \`relay ${kind}s list\` shows the existing ones`);
}
