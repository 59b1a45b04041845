import type { OperatorRole } from '@relay/identity';
import type { Command } from 'commander';
import { documented } from '../documented.js';
import type { Shell } from '../shell.js';
import { clientName } from './client-name.js';
import { withIssuing } from './clients.adapter.js';
import { roleOption } from './role-option.js';
import { printSecret } from './secret.js';

export function defineCreatePartner(group: Command, shell: Shell): void {
  const command = createCommand(group, 'partner').action(async (name: string, options: { json?: boolean }) => {
    printSecret(shell, options, await withIssuing(shell, (clients) => clients.createPartner(name)));
  });
  documented(command, 'partners create acme');
}

export function defineCreateOperator(group: Command, shell: Shell): void {
  const command = createCommand(group, 'operator')
    .addOption(roleOption())
    .action(async (name: string, options: { json?: boolean; role: OperatorRole }) => {
      printSecret(shell, options, await withIssuing(shell, (clients) => clients.createOperator(name, options.role)));
    });
  documented(command, 'operators create night-shift --role operator');
}

const createCommand = (group: Command, kind: 'partner' | 'operator'): Command =>
  group
    .command('create')
    .description(`create a ${kind} and print its client id and secret, once`)
    .argument('<name>', 'a name to recognise it by', clientName);
