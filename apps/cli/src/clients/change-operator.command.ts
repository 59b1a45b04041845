import type { OperatorRole } from '@relay/identity';
import type { Command } from 'commander';
import { documented } from '../documented.js';
import { operationsOf } from '../operations.js';
import { answer, type Shell } from '../shell.js';
import { assertKind } from './known-client.js';
import { roleOption } from './role-option.js';

export function defineChangeOperator(group: Command, shell: Shell): void {
  const command = group
    .command('change')
    .description(
      'give an operator another role, within seconds, also in its open sessions; a higher role needs a new token',
    )
    .argument('<id>', 'its client id')
    .addOption(roleOption())
    .action(async (clientId: string, options: { json?: boolean; role: OperatorRole }) => {
      const { role } = options;
      const api = operationsOf(shell);
      await assertKind(api, 'operator', clientId);
      await api.call('changeClient', { path: { id: clientId }, body: { role } });
      answer(shell, options, { clientId, role }, `${clientId} has the role ${role}.`);
    });
  documented(command, 'operators change operator_0Zt1… --role viewer');
}
