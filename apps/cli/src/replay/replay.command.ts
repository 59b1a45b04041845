import { EVENT_TYPES, type EventType } from '@relay/events';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { documented } from '../documented.js';
import { answer, type Shell } from '../shell.js';
import { shownProgress } from '../shown-progress.js';
import { counted } from '../table.js';
import { follow, totalOf, type ReplayReport } from './follow.js';
import { withReplays, type ReplayRun } from './replay-run.adapter.js';

interface Options {
  json?: boolean;
  type: EventType;
  since?: number;
  until?: number;
  webhook?: string;
  dryRun?: true;
  cancel?: true;
}

export function defineReplay(command: Command, shell: Shell): void {
  command
    .addOption(new Option('--type <type>', 'event type').choices(EVENT_TYPES).makeOptionMandatory())
    .option('--since <time>', 'envelopes accepted at this time or later; all that the log keeps without it', timeOf)
    .option('--until <time>', 'envelopes accepted before this time; until now without it', timeOf)
    .option('--webhook <id>', 'to this webhook only; to every webhook of the type without it')
    .option('--dry-run', 'only count what would be delivered')
    .addOption(
      new Option('--cancel', 'end what is under way instead, whoever ordered it').conflicts([
        'since',
        'until',
        'dryRun',
      ]),
    )
    .addHelpText(
      'after',
      '\nCtrl-C holds it up; the same call goes on with it. What a partner ordered itself is left alone.',
    )
    .action(async (options: Options) => {
      if (options.since !== undefined && options.until !== undefined && options.since >= options.until)
        command.error('error: --until must be later than --since');
      await withReplays(shell, options, (run) => replay(shell, options, run));
    });
  documented(command, 'replay --type task.created --since 2030-01-01T00:00:00Z --dry-run');
}

async function replay(shell: Shell, options: Options, run: ReplayRun): Promise<void> {
  const { since, until } = options;
  if (options.dryRun === true) {
    const matched = (await run.count({ since, until })) * run.webhooks;
    const text = `${counted(run.webhooks, 'webhook')}: at most ${counted(matched, 'delivery', 'deliveries')}`;
    return answer(shell, options, { webhooks: run.webhooks, matched }, text);
  }
  if (options.cancel === true) {
    const cancelled = await run.cancel((text) => shell.note(text));
    return answer(shell, options, { cancelled }, `${counted(cancelled, 'replay')} cancelled`);
  }
  const interrupted = shell.interrupted();
  const { ids, others } = await run.order({ since, until }, (text) => shell.note(text));
  if (others > 0) shell.exitCode = 1;
  const shown = shownProgress(shell, options.json === true);
  try {
    const end = await Promise.race([follow(ids, (each) => run.read(each), shown), interrupted]);
    shown.end();
    if (end === undefined) await run.pause(ids);
    const report = totalOf(await run.read(ids));
    if (end === undefined || report.replays.some(isUnderWay)) shell.exitCode = 1;
    answer(shell, options, report, textOf(report));
  } finally {
    shown.end();
  }
}

const isUnderWay = ({ state }: ReplayReport['replays'][number]): boolean => state === 'running' || state === 'paused';

function textOf({ replays, matched, done, failed, seconds }: ReplayReport): string {
  const paused = replays.filter(({ state }) => state === 'paused').length;
  const waiting = replays.filter((each) => isUnderWay(each) && each.isDisabled).length;
  return [
    `${counted(replays.length, 'replay')}: ${done} of ${counted(matched, 'delivery', 'deliveries')} delivered, ${failed} left to the retries, in ${seconds} s`,
    ...(waiting > 0 ? [`${counted(waiting, 'replay')} waiting until the webhook is enabled: --cancel ends it`] : []),
    ...(paused > 0 ? [`${counted(paused, 'replay')} held up: the same call goes on, --cancel ends it`] : []),
  ].join('\n');
}

function timeOf(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new InvalidArgumentError('A time such as 2030-01-01T00:00:00Z is expected.');
  return time;
}
