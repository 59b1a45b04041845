import type { Command } from 'commander';
import { documented } from '../documented.js';
import type { Shell } from '../shell.js';
import { clientName } from './client-name.js';
import { withIssuing } from './clients.adapter.js';
import { printSecret } from './secret.js';

export function defineCreateClient(group: Command, shell: Shell, kind: 'partner' | 'operator'): void {
  const command = group
    .command('create')
    .description(`create a ${kind} and print its client id and secret, once`)
    .argument('<name>', 'a name to recognise it by', clientName)
    .action(async (name: string, options: { json?: boolean }) => {
      const issued = await withIssuing(shell, (clients) =>
        kind === 'partner' ? clients.createPartner(name) : clients.createOperator(name),
      );
      printSecret(shell, options, issued);
    });
  documented(command, `${kind}s create ${kind === 'partner' ? 'acme' : 'night-shift'}`);
}
