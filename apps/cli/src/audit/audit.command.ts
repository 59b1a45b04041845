import { OPERATIONS_EVENTS, type OperationsRecord } from '@relay/events';
import type { Operations } from '@relay/operations-client';
import { Option, type Command } from 'commander';
import { operationsOf } from '../operations.js';
import { answer, documented, numberOf, table, type Shell } from '../shell.js';

type Options = { json?: boolean } & NonNullable<Operations['readAudit']['data']['query']>;

const countOf = numberOf(/^(?:[1-9]\d?|1\d\d|200)$/, 'A number from 1 to 200 is expected.');

export function defineAudit(command: Command, shell: Shell): void {
  command
    .addOption(new Option('--event <event>', 'only this event').choices(OPERATIONS_EVENTS))
    .option('--operator <id>', 'only of this operator')
    .option('--partner <id>', 'only of this partner')
    .option('--webhook <id>', 'only of this webhook')
    .option('--before <place>', 'only records older than an earlier answer has looked at, as it named them')
    .option('--limit <count>', 'at most so many, 50 unless given, 200 at most', countOf)
    .action(async ({ json = false, ...query }: Options) => {
      const page = await operationsOf(shell).call('readAudit', { query });
      const { records, before } = page;
      const empty = before === null ? 'There are no such records.' : 'There are no such records among the newest.';
      answer(shell, { json }, page, records.length === 0 ? empty : table(records.map(rowOf)));
      if (before !== null && !json) shell.note(`There are older ones: the same command with --before ${before}`);
    });
  documented(command, 'audit --event webhook.disabled');
}

const rowOf = ({ at, event, operator, ...facts }: OperationsRecord): string[] => [
  at,
  event,
  operator ?? facts.partnerId ?? 'the relay',
  facts.clientId ?? facts.webhookId ?? (typeof facts['id'] === 'string' ? facts['id'] : ''),
  facts.reason ?? '',
];
