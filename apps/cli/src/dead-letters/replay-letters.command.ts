import type { ReplayReport } from '@relay/dead-letters';
import type { Command } from 'commander';
import { documented } from '../documented.js';
import { operationsOf } from '../operations.js';
import { answer, type Shell } from '../shell.js';
import { counted } from '../table.js';
import { eachPart, parts } from './parts.js';
import { assertSelection, notFound, withSelection, type Selection } from './selection.js';

export function defineReplayLetters(group: Command, shell: Shell): void {
  const command = withSelection(
    group.command('replay').description('deliver dead letters again, each with a fresh retry schedule'),
  ).action(async (ids: string[], options: Selection) => {
    assertSelection(command, ids, options);
    const report = await replay(shell, ids, options);
    if (report.refusedCount > 0 || report.missing.length > 0 || !report.complete) shell.exitCode = 1;
    answer(shell, options, report, textOf(report));
  });
  documented(command, 'dead-letters replay --type task.created');
}

async function replay(shell: Shell, ids: readonly string[], options: Selection): Promise<ReplayReport> {
  const api = operationsOf(shell);
  const report = { replayed: 0, deliveries: 0, refused: [] as ReplayReport['refused'][number][], refusedCount: 0 };
  const missing: string[] = [];
  const ask = async (body: object) => (await api.call('replayDeadLetters', { body })) as ReplayReport;
  const isComplete = await eachPart(shell, parts(ids, options, ask), (part) => {
    report.replayed += part.replayed;
    report.deliveries += part.deliveries;
    report.refused.push(...part.refused);
    report.refusedCount += part.refusedCount;
    missing.push(...part.missing);
    return `${counted(report.replayed, 'dead letter')} replayed`;
  });
  return { ...report, missing, complete: isComplete };
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
