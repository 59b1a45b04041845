import type { Command } from 'commander';
import { documented } from '../documented.js';
import { answer, type Shell } from '../shell.js';
import { counted } from '../table.js';
import { changeDeadLetters } from './dead-letters.adapter.js';
import { assertSelection, notFound, withSelection, type Selection } from './selection.js';

interface Options extends Selection {
  yes?: true;
}

export function definePurgeLetters(group: Command, shell: Shell): void {
  const command = withSelection(group.command('purge').description('delete dead letters for good'))
    .option('--yes', 'really do it')
    .action(async (ids: string[], options: Options) => {
      assertSelection(command, ids, options);
      if (options.yes !== true) command.error('error: purged dead letters are gone for good: confirm with --yes');
      const { purged, missing } = await changeDeadLetters(shell, 'purge', { ids, ...options }, (desk, choice, stop) =>
        desk.purge(choice, Infinity, stop),
      );
      if (missing.length > 0) shell.exitCode = 1;
      const lines = [`${counted(purged, 'dead letter')} purged`, ...missing.map(notFound)];
      answer(shell, options, { purged, missing }, lines.join('\n'));
    });
  documented(command, 'dead-letters purge --reason gone --yes');
}
