import type { DeadLetterFilter, DeadLetterList } from '@relay/dead-letters';
import { InvalidArgumentError, type Command } from 'commander';
import { documented } from '../documented.js';
import { answer, type Shell } from '../shell.js';
import { counted, table } from '../table.js';
import { withDeadLetters } from './dead-letters.adapter.js';
import { withFilters } from './selection.js';

interface Options extends DeadLetterFilter {
  json?: boolean;
  limit: number;
  cursor?: string;
}

export function defineListLetters(group: Command, shell: Shell): void {
  const command = withFilters(group.command('list').description('list the dead letters, newest first'))
    .option('--limit <n>', 'the maximum to list', limitOf, 100)
    .option('--cursor <place>', 'only those older than an earlier answer has shown, as it named them')
    .action(async (options: Options) => {
      const { listed, matched } = await withDeadLetters(shell, async (desk) => {
        const page = await desk.list(options, options.limit, Infinity, options.cursor);
        const older = page.next === undefined ? undefined : await desk.count({ ids: [], filter: options });
        return { listed: page, matched: older?.matched };
      });
      answer(shell, options, listed.letters, textOf(listed));
      if (listed.next !== undefined)
        shell.note(`${counted(matched ?? 0, 'dead letter')} in all; older ones: --limit, or --cursor ${listed.next}`);
    });
  documented(command, 'dead-letters list --type task.created --reason attempts_exhausted');
}

function textOf({ letters, stored }: DeadLetterList): string {
  const rows = letters.map(({ id, diedAt, eventType, reason, attempts, lastFailure, lastAttempt }) => [
    diedAt,
    eventType,
    reason,
    counted(attempts, 'attempt'),
    id,
    [lastFailure, lastAttempt?.answer?.slice(0, 256)].filter(Boolean).join(': '),
  ]);
  const count = `${letters.length} of ${counted(stored, 'dead letter')} stored`;
  return rows.length === 0 ? count : `${table(rows)}\n${count}`;
}

function limitOf(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('A number of 1 or more is expected.');
  return Number(text);
}
