import type { ClientKind } from '@relay/identity';
import type { Command } from 'commander';
import { documented, documentedGroup } from '../documented.js';
import { answer, type Shell } from '../shell.js';
import { withClients } from './clients.adapter.js';
import { defineCreateClient } from './create-client.command.js';

const KINDS: readonly ClientKind[] = ['partner', 'source', 'operator'];

/** `relay admin clients`: the first operator comes into being here. */
export function defineAdminClients(group: Command, shell: Shell): void {
  const create = group.command('create').description('create a client and print its credential, once');
  for (const kind of KINDS)
    defineCreateClient(create.command(kind), shell, kind, `admin clients create ${kind}`, (wanted) =>
      withClients(shell, (clients) => clients.create(wanted)),
    );
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
