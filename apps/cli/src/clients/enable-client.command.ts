import type { ClientKind } from '@relay/identity';
import type { Command } from 'commander';
import { documented } from '../documented.js';
import { answer, type Shell } from '../shell.js';
import { assertKind, withClients } from './clients.adapter.js';

export function defineEnableClient(group: Command, shell: Shell, kind: ClientKind): void {
  const command = group
    .command('enable')
    .description(
      `let a disabled ${kind} use its former credentials again, within seconds; its former tokens stay ended`,
    )
    .argument('<id>', 'its client id')
    .action(async (clientId: string, options: { json?: boolean }) => {
      await withClients(shell, async (clients, store) => {
        await assertKind(store, kind, clientId);
        await clients.enable(clientId);
      });
      answer(shell, options, { clientId, disabled: false }, `${clientId} is enabled.`);
    });
  documented(command, `${kind}s enable ${kind}_0Zt1…`);
}
