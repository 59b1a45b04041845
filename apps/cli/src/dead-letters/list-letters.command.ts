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
}

export function defineListLetters(group: Command, shell: Shell): void {
  const command = withFilters(group.command('list').description('list the dead letters, newest first'))
    .option('--limit <n>', 'the maximum to list', limitOf, 100)
    .action(async (options: Options) => {
      const listed = await withDeadLetters(shell, (desk) => desk.list(options, options.limit));
      answer(shell, options, listed.letters, textOf(listed));
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
