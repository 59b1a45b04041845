import type { ClientKind } from '@relay/identity';
import type { Command } from 'commander';
import { documented } from '../documented.js';
import { answer, type Shell } from '../shell.js';
import { assertKind, withClients } from './clients.adapter.js';

export function defineDisableClient(group: Command, shell: Shell, kind: ClientKind): void {
  const command = group
    .command('disable')
    .description(`refuse a ${kind} and end its tokens, within seconds; \`enable\` undoes this, except for the tokens`)
    .argument('<id>', 'its client id')
    .action(async (clientId: string, options: { json?: boolean }) => {
      await withClients(shell, async (clients, store) => {
        await assertKind(store, kind, clientId);
        await clients.disable(clientId);
      });
      answer(shell, options, { clientId, disabled: true }, `${clientId} is disabled.`);
      if (kind === 'partner')
        shell.note(
          `Its webhooks still get deliveries: \`relay webhooks disable --partner ${clientId}\` stops them, \`delete\` for good.`,
        );
    });
  documented(command, `${kind}s disable ${kind}_0Zt1…`);
}
