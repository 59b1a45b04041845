import { randomBytes } from 'node:crypto';
import { Clients, RedisClientStore, type ClientCommand, type ClientKind, type ClientStore } from '@relay/identity';
import { keyringEnv } from '@relay/config';
import { Keyring } from '@relay/keyring';
import { sealingKeyring, withRegistry } from '../registry.adapter.js';
import { settingsOf } from '../settings.js';
import type { Shell } from '../shell.js';

/** Opens the clients for `work`. */
export function withClients<T>(shell: Shell, work: (clients: Clients, store: ClientStore) => Promise<T>): Promise<T> {
  const keyring = Keyring.parse(settingsOf(shell, keyringEnv).ENCRYPTION_KEYS);
  return withRegistry(shell, ({ redis, registry }) => {
    const store = new RedisClientStore(redis, registry.of<ClientCommand>('client'));
    return work(new Clients(store, keyring, randomBytes, Date.now), store);
  });
}

/** Opens the clients for `work` that issues secrets. @throws Error when a key is missing: no ingress could tell the secret */
export function withIssuing<T>(shell: Shell, work: (clients: Clients, store: ClientStore) => Promise<T>): Promise<T> {
  return withRegistry(shell, async (stores) => {
    const store = new RedisClientStore(stores.redis, stores.registry.of<ClientCommand>('client'));
    return work(new Clients(store, await sealingKeyring(shell, stores), randomBytes, Date.now), store);
  });
}

/** @throws Error when there is no client of this kind with the id */
export async function assertKind(store: ClientStore, kind: ClientKind, clientId: string): Promise<void> {
  if ((await store.find(clientId))?.kind !== kind)
    throw new Error(`There is no ${kind} ${clientId}: \`relay ${kind}s list\` shows the existing ones`);
}
