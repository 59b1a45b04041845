import type { ClientFacts, ClientKind } from '@relay/identity';
import type { Command } from 'commander';
import { documented } from '../documented.js';
import { operationsOf } from '../operations.js';
import { answer, type Shell } from '../shell.js';
import { table } from '../table.js';

export function defineListClients(group: Command, shell: Shell, kind: ClientKind): void {
  const command = group
    .command('list')
    .description(`list the ${kind}s, oldest first`)
    .action(async (options: { json?: boolean }) => {
      const query = { kind, limit: 10_000 };
      const clients = await operationsOf(shell).all('listClients', { query }, (page) => page.clients);
      const empty = `There are no ${kind}s: \`relay ${kind}s create NAME\` makes one.`;
      answer(shell, options, clients, clients.length === 0 ? empty : table(clients.map(rowOf)));
    });
  documented(command, `${kind}s list`);
}

const rowOf = ({ clientId, name, role, credentialType, partners, disabled, createdAt }: ClientFacts): string[] => [
  clientId,
  name,
  createdAt,
  disabled ? 'disabled' : 'active',
  role ?? (credentialType === 'client' ? '' : credentialType),
  partners.length === 0 ? '' : `for ${partners.join(', ')}`,
];
