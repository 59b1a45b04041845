import type { PurgeReport } from '@relay/dead-letters';
import type { Command } from 'commander';
import { documented } from '../documented.js';
import { operationsOf } from '../operations.js';
import { answer, type Shell } from '../shell.js';
import { counted } from '../table.js';
import { eachPart, parts } from './parts.js';
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
      const api = operationsOf(shell);
      const missing: string[] = [];
      let purged = 0;
      const ask = async (body: object) => (await api.call('purgeDeadLetters', { body })) as PurgeReport;
      const isComplete = await eachPart(shell, parts(ids, options, ask), (part) => {
        purged += part.purged;
        missing.push(...part.missing);
        return `${counted(purged, 'dead letter')} purged`;
      });
      if (missing.length > 0 || !isComplete) shell.exitCode = 1;
      const lines = [`${counted(purged, 'dead letter')} purged`, ...missing.map(notFound)];
      answer(shell, options, { purged, missing }, lines.join('\n'));
    });
  documented(command, 'dead-letters purge --reason gone --yes');
}
