import { clientFacts, type ClientFacts, RedisClientStore, type ClientCommand, type ClientKind } from '@relay/identity';
import type { Command } from 'commander';
import { documented } from '../documented.js';
import { withRegistry } from '../registry.adapter.js';
import { answer, type Shell } from '../shell.js';
import { table } from '../table.js';

export function defineListClients(group: Command, shell: Shell, kind: ClientKind): void {
  const command = group
    .command('list')
    .description(`list the ${kind}s, oldest first`)
    .action(async (options: { json?: boolean }) => {
      const all = await withRegistry(shell, ({ redis, registry }) =>
        new RedisClientStore(redis, registry.of<ClientCommand>('client')).list(),
      );
      const clients = all.filter((client) => client.kind === kind).map(clientFacts);
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
