import { DeadLetter, isEmpty, type DeadLetterReason, type PurgeReport, type ReplayReport } from '@relay/dead-letters';
import type { EnvelopeType } from '@relay/events';
import { NO_WEBHOOK } from '@relay/jobs';
import type { Operations } from '@relay/operations-client';
import { Option, type Command } from 'commander';
import { operationsOf } from '../operations.js';
import { answer, counted, documented, documentedGroup, numberOf, table, type Shell } from '../shell.js';

/** The operations app returns at most this many dead letters in a page, and accepts at most this many ids in a request. */
const MOST = 1_000;

type Letter = Operations['listDeadLetters']['responses'][200]['deadLetters'][number];

export function defineDeadLetters(group: Command, shell: Shell): void {
  defineList(group.command('list'), shell);
  defineReplay(group.command('replay'), shell);
  definePurge(group.command('purge'), shell);
  documentedGroup(group, 'dead-letters replay --all');
}

function defineList(command: Command, shell: Shell): void {
  withFilters(command.description('list the dead letters, newest first'))
    .option('--limit <n>', 'the maximum to list', numberOf(/^[1-9]\d{0,8}$/, 'A number of 1 or more is expected.'), 100)
    .option('--cursor <place>', 'only those older than an earlier answer has shown, as it named them')
    .action(async ({ json = false, limit, cursor, ...filter }: Filters & { limit: number; cursor?: string }) => {
      const api = operationsOf(shell);
      const letters: Letter[] = [];
      let [stored, next] = [0, cursor];
      do {
        const query = { ...filter, limit: Math.min(MOST, limit - letters.length) };
        const page = await api.page('listDeadLetters', { query }, next);
        letters.push(...page.answer.deadLetters);
        [stored, next] = [page.answer.stored, page.next];
      } while (next !== undefined && letters.length < limit);
      answer(shell, { json }, letters, listText(letters, stored));
      if (next === undefined) return;
      const { matched } = await api.call('countDeadLetters', { query: filter });
      shell.note(`${counted(matched, 'dead letter')} in all; older ones: --limit, or --cursor ${next}`);
    });
  documented(command, 'dead-letters list --type task.created --reason attempts_exhausted');
}

function listText(letters: readonly Letter[], stored: number): string {
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

function defineReplay(command: Command, shell: Shell): void {
  withSelection(command.description('deliver dead letters again, each with a fresh retry schedule')).action(
    async (ids: string[], options: Selection) => {
      assertSelection(command, ids, options);
      const report = await replay(shell, ids, options);
      if (report.refusedCount > 0 || report.missing.length > 0 || !report.complete) shell.exitCode = 1;
      answer(shell, options, report, replayText(report));
    },
  );
  documented(command, 'dead-letters replay --type task.created');
}

async function replay(shell: Shell, ids: readonly string[], options: Selection): Promise<ReplayReport> {
  const api = operationsOf(shell);
  const report = { replayed: 0, deliveries: 0, refused: [] as ReplayReport['refused'][number][], refusedCount: 0 };
  const ask = async (body: object) => (await api.call('replayDeadLetters', { body })) as ReplayReport;
  const { missing, complete } = await eachPart(shell, ids, options, ask, (part) => {
    report.replayed += part.replayed;
    report.deliveries += part.deliveries;
    report.refused.push(...part.refused);
    report.refusedCount += part.refusedCount;
    return `${counted(report.replayed, 'dead letter')} replayed`;
  });
  return { ...report, missing, complete };
}

function replayText({ replayed, deliveries, refused, refusedCount, missing }: ReplayReport): string {
  const unnamed = refusedCount - refused.length;
  return [
    `${counted(replayed, 'dead letter')} replayed as ${counted(deliveries, 'delivery', 'deliveries')}`,
    ...refused.map(({ id, why }) => `refused ${id}: ${why}`),
    ...(unnamed > 0 ? [`refused ${unnamed} more`] : []),
    ...missing.map(notFound),
  ].join('\n');
}

function definePurge(command: Command, shell: Shell): void {
  withSelection(command.description('delete dead letters for good'))
    .option('--yes', 'really do it')
    .action(async (ids: string[], options: Selection & { yes?: true }) => {
      assertSelection(command, ids, options);
      if (options.yes !== true) command.error('error: purged dead letters are gone for good: confirm with --yes');
      const api = operationsOf(shell);
      let purged = 0;
      const ask = async (body: object) => (await api.call('purgeDeadLetters', { body })) as PurgeReport;
      const { missing, complete } = await eachPart(shell, ids, options, ask, (part) => {
        purged += part.purged;
        return `${counted(purged, 'dead letter')} purged`;
      });
      if (missing.length > 0 || !complete) shell.exitCode = 1;
      const lines = [`${counted(purged, 'dead letter')} purged`, ...missing.map(notFound)];
      answer(shell, options, { purged, missing }, lines.join('\n'));
    });
  documented(command, 'dead-letters purge --reason gone --yes');
}

interface Filters {
  json?: boolean;
  type?: EnvelopeType;
  reason?: DeadLetterReason;
  webhook?: string;
}

interface Selection extends Filters {
  all?: true;
}

const withFilters = (command: Command): Command =>
  command
    .addOption(new Option('--type <type>', 'only of this event type'))
    .addOption(new Option('--reason <reason>', 'only of this reason').choices(DeadLetter.shape.reason.options))
    .option('--webhook <id>', 'only of this webhook');

/**
 * Unknown options are allowed because the id of a dead letter that belongs to no webhook starts with `-`, and commander
 * takes such an id for an option.
 */
const withSelection = (command: Command): Command =>
  withFilters(command.argument('[id...]', 'ids of dead letters, or of envelopes'))
    .option('--all', 'every dead letter')
    .allowUnknownOption();

/** Exits with a usage error unless the dead letters are selected either by ids or by --all and filters. */
function assertSelection(command: Command, ids: readonly string[], selection: Selection): void {
  const unknown = ids.find((id) => id.startsWith('-') && !id.startsWith(`${NO_WEBHOOK}_`));
  if (unknown !== undefined) command.error(`error: unknown option '${unknown}'`);
  const ways = [ids.length > 0, selection.all === true || !isEmpty(selection)];
  if (ways.filter(Boolean).length !== 1)
    command.error('error: say which dead letters: either their ids, or --all, --type, --reason, --webhook');
}

const notFound = (id: string): string => `not found ${id}: \`relay dead-letters list\` shows the existing ones`;

interface Part {
  readonly missing: readonly string[];
  readonly complete: boolean;
  readonly after?: string;
}

/**
 * Repeats a request until all selected dead letters are done or the command is interrupted. The repetition is needed because
 * the operations app answers after some seconds, even if only a part is done. If a request fails, a note says what was done.
 * @param add adds an answer to the report, and returns a text that says what is done so far
 */
async function eachPart<Report extends Part>(
  shell: Shell,
  ids: readonly string[],
  { all, type, reason, webhook }: Selection,
  ask: (body: object) => Promise<Report>,
  add: (part: Report) => string,
): Promise<{ readonly missing: readonly string[]; readonly complete: boolean }> {
  const missing: string[] = [];
  let done: string | undefined;
  let isInterrupted = false;
  void shell.interrupted().then(() => (isInterrupted = true));
  try {
    for (let at = 0; at === 0 || at < ids.length; at += MOST) {
      const named = ids.length === 0 ? undefined : ids.slice(at, at + MOST);
      let part: Report | undefined;
      do {
        const isFirst: boolean = part === undefined;
        part = await ask({ ids: named, all, type, reason, webhook, after: part?.after });
        done = add(part);
        // Later answers also list the dead letters as missing that an earlier answer has replayed or purged.
        if (isFirst) missing.push(...part.missing);
        if (!isInterrupted) continue;
        shell.note('interrupted: the same command goes on with the rest');
        return { missing, complete: false };
      } while (!part.complete);
    }
    return { missing, complete: true };
  } catch (error) {
    if (done !== undefined) shell.note(`${done} by now`);
    throw error;
  }
}
