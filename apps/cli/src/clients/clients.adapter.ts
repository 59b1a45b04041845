import { randomBytes } from 'node:crypto';
import { Audit } from '@relay/audit';
import { clientAudit, type ClientCommand, Clients, RedisClientStore } from '@relay/identity';
import { assertShared, keyringOf } from '../keyring.adapter.js';
import { withRegistry } from '../registry.adapter.js';
import type { Shell } from '../shell.js';

/** Opens the clients for `work`, without the operations app. @throws Error when no ingress could tell a secret */
export function withClients<T>(shell: Shell, work: (clients: Clients) => Promise<T>): Promise<T> {
  const keyring = keyringOf(shell);
  return withRegistry(shell, async ({ redis, registry, publisher, settings }) => {
    await assertShared(keyring, redis);
    const audit = new Audit(publisher, settings.KAFKA_TOPIC_PREFIX, Date.now);
    const tell = clientAudit((facts) => audit.report({ ...facts, operator: 'relay admin clients' }));
    const store = new RedisClientStore(redis, registry.of<ClientCommand>('client'));
    return work(new Clients(store, keyring, randomBytes, Date.now, tell));
  });
}
