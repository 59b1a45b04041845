import type { Operations } from '@relay/operations-client';
import { InvalidArgumentError, type Command } from 'commander';
import { documented } from '../documented.js';
import { operationsOf } from '../operations.js';
import { answer, type Shell } from '../shell.js';
import { counted, table } from '../table.js';
import { type Filters, withFilters } from './selection.js';

/** The longest page that the operations app answers. */
const MOST = 1_000;

type Letter = Operations['listDeadLetters']['responses'][200]['deadLetters'][number];

interface Options extends Filters {
  limit: number;
  cursor?: string;
}

export function defineListLetters(group: Command, shell: Shell): void {
  const command = withFilters(group.command('list').description('list the dead letters, newest first'))
    .option('--limit <n>', 'the maximum to list', limitOf, 100)
    .option('--cursor <place>', 'only those older than an earlier answer has shown, as it named them')
    .action(async ({ json = false, limit, cursor, ...filter }: Options) => {
      const api = operationsOf(shell);
      const letters: Letter[] = [];
      let [stored, next] = [0, cursor];
      do {
        const query = { ...filter, limit: Math.min(MOST, limit - letters.length) };
        const page = await api.page('listDeadLetters', { query }, next);
        letters.push(...page.answer.deadLetters);
        [stored, next] = [page.answer.stored, page.next];
      } while (next !== undefined && letters.length < limit);
      answer(shell, { json }, letters, textOf(letters, stored));
      if (next === undefined) return;
      const { matched } = await api.call('countDeadLetters', { query: filter });
      shell.note(`${counted(matched, 'dead letter')} in all; older ones: --limit, or --cursor ${next}`);
    });
  documented(command, 'dead-letters list --type task.created --reason attempts_exhausted');
}

function textOf(letters: readonly Letter[], stored: number): string {
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
