import { randomBytes } from 'node:crypto';
import { Audit } from '@relay/audit';
import { clientAudit, type ClientCommand, type ClientKind, Clients, ClientStore } from '@relay/identity';
import type { Command } from 'commander';
import { answer, documented, documentedGroup, type Shell } from '../shell.js';
import { assertShared, keyringOf, withRegistry } from '../stores.adapter.js';
import { defineCreateClient } from './clients.group.js';

const KINDS: readonly ClientKind[] = ['partner', 'source', 'operator'];

export function defineAdminClients(group: Command, shell: Shell): void {
  const create = group.command('create').description('create a client and print its credential, once');
  for (const kind of KINDS) {
    const command = create.command(kind);
    if (kind === 'operator')
      command.option('--reuse', 'enable a disabled operator of this name and role with a new secret, if there is one');
    defineCreateClient(command, shell, kind, `admin clients create ${kind}`, (wanted) =>
      withClients(shell, (clients) =>
        wanted.kind === 'operator' && command.opts()['reuse'] === true
          ? clients.reuseOperator(wanted.name, wanted.role)
          : clients.create(wanted),
      ),
    );
  }
  documentedGroup(create, 'admin clients create operator first --role admin');
  const disable = group
    .command('disable')
    .description('refuse a client of any kind and end its tokens, within seconds')
    .argument('<id>', 'its client id')
    .action(async (clientId: string, options: { json?: boolean }) => {
      await withClients(shell, (clients) => clients.disable(clientId));
      answer(shell, options, { clientId, disabled: true }, `${clientId} is disabled.`);
    });
  documented(disable, 'admin clients disable operator_0Zt1…');
  documentedGroup(group, 'admin clients create operator first --role admin');
}

/**
 * Gives `work` direct access to the API clients that are stored in Redis. The command therefore works without a running
 * operations app.
 * @throws Error if the ingresses lack the encryption key of this command, so they could not verify the secrets that it
 *   creates
 */
function withClients<T>(shell: Shell, work: (clients: Clients) => Promise<T>): Promise<T> {
  const keyring = keyringOf(shell);
  return withRegistry(shell, async ({ redis, registry, publisher, settings }) => {
    await assertShared(keyring, redis);
    const audit = new Audit(publisher, settings.KAFKA_TOPIC_PREFIX, Date.now);
    const tell = clientAudit((facts) => audit.report({ ...facts, operator: 'relay admin clients' }));
    const store = new ClientStore(redis, registry.of<ClientCommand>('client'));
    return work(new Clients(store, keyring, randomBytes, Date.now, tell));
  });
}
