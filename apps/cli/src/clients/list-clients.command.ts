import { RedisClientStore, type ClientCommand, type ClientKind, type ClientRecord } from '@relay/identity';
import type { Command } from 'commander';
import { documented } from '../documented.js';
import { withRegistry } from '../registry.adapter.js';
import { answer, type Shell } from '../shell.js';
import { table, timeOf } from '../table.js';

export function defineListClients(group: Command, shell: Shell, kind: ClientKind): void {
  const command = group
    .command('list')
    .description(`list the ${kind}s, oldest first`)
    .action(async (options: { json?: boolean }) => {
      const all = await withRegistry(shell, ({ redis, registry }) =>
        new RedisClientStore(redis, registry.of<ClientCommand>('client')).list(),
      );
      const clients = all.filter((client) => client.kind === kind);
      const empty = `There are no ${kind}s: \`relay ${kind}s create NAME\` makes one.`;
      answer(shell, options, clients.map(shownOf), clients.length === 0 ? empty : table(clients.map(rowOf)));
    });
  documented(command, `${kind}s list`);
}

/** The record of a client without its hashes. */
const shownOf = ({ clientId, name, scopes, credential, audience, disabled, createdAt }: ClientRecord): object => ({
  clientId,
  name,
  scopes,
  credentialType: credential?.type ?? 'client',
  partners: audience,
  disabled,
  createdAt: timeOf(createdAt),
});

const rowOf = ({ clientId, name, credential, audience, disabled, createdAt }: ClientRecord): string[] => [
  clientId,
  name,
  timeOf(createdAt),
  disabled ? 'disabled' : 'active',
  credential?.type ?? '',
  audience.length === 0 ? '' : `for ${audience.join(', ')}`,
];
