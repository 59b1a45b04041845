import { RegistryCompaction, type Compaction } from '@relay/registry';
import type { Command } from 'commander';
import { documented } from '../documented.js';
import { logOf, withRegistry } from '../registry.adapter.js';
import { answer, type Shell } from '../shell.js';
import { counted } from '../table.js';

export function defineCompactRegistry(group: Command, shell: Shell): void {
  const command = group
    .command('compact')
    .description('write a snapshot of clients and webhooks into the registry and delete its older records')
    .action(async (options: { json?: boolean }) => {
      const told = (_event: string, message: string): void => shell.note(`warning: ${message}`);
      const log = { ...logOf(told), warn: told };
      const outcome = await withRegistry(shell, ({ redis, registryLog, registry }) =>
        new RegistryCompaction(redis, registryLog, registry, log).compact(),
      );
      if (outcome.kind !== 'compacted' || !outcome.freed) shell.exitCode = 1;
      answer(shell, options, outcome, textOf(outcome));
    });
  documented(command, 'registry compact');
}

function textOf(outcome: Compaction): string {
  if (outcome.kind === 'compacted') {
    const what = `${counted(outcome.records, 'record')} replace everything before offset ${outcome.begin}`;
    return outcome.freed ? `${what}, which is gone.` : `${what}, which could not be deleted.`;
  }
  if (outcome.kind === 'refused') return `The snapshot ${outcome.reason}: nothing was deleted.`;
  if (outcome.kind === 'busy') return 'Another process is making a snapshot: nothing was done.';
  return 'Another process took this one for dead: nothing was deleted. Run the command again.';
}
