import type { Command } from 'commander';
import { withRedis } from '../connections.adapter.js';
import { documented } from '../documented.js';
import { answer, type Shell } from '../shell.js';
import { counted } from '../table.js';
import { DeadLetterBox } from './dead-letter-box.adapter.js';
import { assertSelection, chosen, withSelection, type Selection } from './selection.js';

interface Options extends Selection {
  yes?: true;
}

export function definePurgeLetters(group: Command, shell: Shell): void {
  const command = withSelection(group.command('purge').description('delete dead letters for good'))
    .option('--yes', 'really do it')
    .action(async (ids: string[], options: Options) => {
      assertSelection(command, ids, options);
      if (options.yes !== true) command.error('error: purged dead letters are gone for good: repeat it with --yes');
      const { purged, missing } = await purge(shell, ids, options);
      if (missing.length > 0) shell.exitCode = 1;
      const lines = [`${counted(purged, 'dead letter')} purged`, ...missing.map((id) => `not found ${id}`)];
      answer(shell, options, { purged, missing }, lines.join('\n'));
    });
  documented(command, 'dead-letters purge --reason gone --yes');
}

function purge(
  shell: Shell,
  ids: readonly string[],
  selection: Selection,
): Promise<{ purged: number; missing: string[] }> {
  return withRedis(shell, async (redis) => {
    const box = new DeadLetterBox(redis);
    let purged = 0;
    let missing: string[] = [];
    for await (const letters of chosen(box, ids, selection, (found) => (missing = found)))
      purged += await box.remove(letters.map(({ id }) => id));
    await box.close();
    return { purged, missing };
  });
}
