import type { DeadLetter } from '@relay/retry';
import { InvalidArgumentError, type Command } from 'commander';
import { withRedis } from '../connections.adapter.js';
import { documented } from '../documented.js';
import { answer, type Shell } from '../shell.js';
import { counted, table, timeOf } from '../table.js';
import { DeadLetterBox, type StoredLetter } from './dead-letter-box.adapter.js';
import { matches, type LetterFilter } from './letter-filter.js';
import { withFilters } from './selection.js';

interface Options extends LetterFilter {
  json?: boolean;
  limit: number;
}

export function defineListLetters(group: Command, shell: Shell): void {
  const command = withFilters(group.command('list').description('list the dead letters, newest first'))
    .option('--limit <n>', 'at most so many', limitOf, 100)
    .action(async (options: Options) => {
      const { letters, total } = await find(shell, options);
      const shown = letters.map(({ id, letter }) => shownOf(id, letter));
      answer(shell, options, shown, textOf(letters, total));
    });
  documented(command, 'dead-letters list --type task.created --reason attempts_exhausted');
}

function find(shell: Shell, options: Options): Promise<{ letters: StoredLetter[]; total: number }> {
  return withRedis(shell, async (redis) => {
    const box = new DeadLetterBox(redis);
    const ids = (await box.ids()).toReversed();
    const letters: StoredLetter[] = [];
    for await (const slice of box.read(ids)) {
      letters.push(...slice.filter(({ letter }) => matches(letter, options)));
      if (letters.length >= options.limit) break;
    }
    await box.close();
    return { letters: letters.slice(0, options.limit), total: ids.length };
  });
}

/** Without the body: it is the envelope, whose source has it. */
const shownOf = (id: string, letter: DeadLetter): object => ({
  id,
  envelopeId: letter.envelopeId,
  webhookId: letter.webhookId,
  partnerId: letter.partnerId,
  eventType: letter.eventType,
  reason: letter.reason,
  lastFailure: letter.lastFailure,
  attempts: letter.attempts,
  series: letter.series,
  acceptedAt: timeOf(letter.acceptedAt),
  diedAt: timeOf(letter.diedAt),
});

function textOf(letters: readonly StoredLetter[], total: number): string {
  const rows = letters.map(({ id, letter }) => [
    timeOf(letter.diedAt),
    letter.eventType,
    letter.reason,
    counted(letter.attempts, 'attempt'),
    id,
    letter.lastFailure ?? '',
  ]);
  const count = `${letters.length} of ${counted(total, 'dead letter')}`;
  return rows.length === 0 ? count : `${table(rows)}\n${count}`;
}

function limitOf(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('A number of 1 or more is expected.');
  return Number(text);
}
