import type { ReplayReport } from '@relay/dead-letters';
import type { Command } from 'commander';
import { documented } from '../documented.js';
import { answer, type Shell } from '../shell.js';
import { counted } from '../table.js';
import { changeDeadLetters } from './dead-letters.adapter.js';
import { assertSelection, notFound, withSelection, type Selection } from './selection.js';

export function defineReplayLetters(group: Command, shell: Shell): void {
  const command = withSelection(
    group.command('replay').description('deliver dead letters again, each with a fresh retry schedule'),
  ).action(async (ids: string[], options: Selection) => {
    assertSelection(command, ids, options);
    const report = await changeDeadLetters(shell, 'replay', { ids, ...options }, (desk, choice, stop) =>
      desk.replay(choice, Infinity, stop),
    );
    if (report.refusedCount > 0 || report.missing.length > 0) shell.exitCode = 1;
    answer(shell, options, report, textOf(report));
  });
  documented(command, 'dead-letters replay --type task.created');
}

function textOf({ replayed, deliveries, refused, refusedCount, missing }: ReplayReport): string {
  const unnamed = refusedCount - refused.length;
  return [
    `${counted(replayed, 'dead letter')} replayed as ${counted(deliveries, 'delivery', 'deliveries')}`,
    ...refused.map(({ id, why }) => `refused ${id}: ${why}`),
    ...(unnamed > 0 ? [`refused ${unnamed} more`] : []),
    ...missing.map(notFound),
  ].join('\n');
}
