import { setTimeout as delay } from 'node:timers/promises';
import type { EnvelopeType } from '@relay/events';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { operationsOf } from '../operations.js';
import { answer, counted, documented, type Shell } from '../shell.js';
import { type Progress, shownProgress } from '../shown-progress.js';
import {
  leftOut,
  leftOutText,
  readMoment,
  ReplayRun,
  windowOf,
  windowText,
  type FollowedReplay,
  type Replay,
  type ReplayPlan,
} from './replay-run.js';

interface Options {
  json?: boolean;
  type: EnvelopeType;
  since?: number;
  until?: number;
  webhook?: string;
  dryRun?: true;
  cancel?: true;
}

export function defineReplay(command: Command, shell: Shell): void {
  command
    .addOption(new Option('--type <type>', 'event type').makeOptionMandatory())
    .option('--since <time>', 'envelopes written to the log at this time or later; by default all of them', momentOf)
    .option('--until <time>', 'envelopes written to the log before this time; by default until now', momentOf)
    .option('--webhook <id>', 'to this webhook only; by default to every webhook of the type')
    .option('--dry-run', 'only count what would be delivered')
    .addOption(
      new Option('--cancel', 'end running replays instead, whoever ordered them').conflicts([
        'since',
        'until',
        'dryRun',
      ]),
    )
    .addHelpText(
      'after',
      '\nCtrl-C pauses the replays; the same command continues them. Without --cancel, a replay that a partner ordered is left alone.',
    )
    .action(async (options: Options) => {
      if (options.since !== undefined && options.until !== undefined && options.since >= options.until)
        command.error('error: --until must be later than --since');
      const run = await ReplayRun.of(operationsOf(shell), options);
      if (options.cancel === true) {
        const cancelled = await run.cancel((text) => shell.note(text));
        return answer(shell, options, { cancelled }, `${counted(cancelled, 'replay')} cancelled`);
      }
      const plan = await run.plan(windowOf(options));
      return options.dryRun === true ? countOnly(shell, options, run, plan) : deliverAgain(shell, options, run, plan);
    });
  documented(command, 'replay --type task.created --since 2030-01-01T00:00:00Z --dry-run');
}

async function countOnly(shell: Shell, options: Options, run: ReplayRun, plan: ReplayPlan): Promise<void> {
  const { steps, window } = plan;
  const without = leftOut(steps);
  const webhooks = steps.length - without.length;
  const matched = await run.count(plan);
  const lines = [
    `${counted(webhooks, 'webhook')}: at most ${counted(matched, 'delivery', 'deliveries')} of envelopes accepted ${windowText(window)}`,
    ...without.map(leftOutText),
  ];
  answer(shell, options, { ...window, webhooks, matched, leftOut: without }, lines.join('\n'));
}

async function deliverAgain(shell: Shell, options: Options, run: ReplayRun, plan: ReplayPlan): Promise<void> {
  const note = (text: string): void => shell.note(text);
  const stop = new AbortController();
  const interrupted = shell.interrupted().then(() => stop.abort());
  if (options.json !== true)
    note(`envelopes accepted ${windowText(plan.window)} go to ${counted(plan.steps.length, 'webhook')} once more`);
  const ids = await run.order(plan, note, stop.signal);
  const shown = shownProgress(shell, options.json === true);
  try {
    await Promise.race([follow(ids, (each) => run.read(each), shown), interrupted]);
    shown.end();
    if (stop.signal.aborted) await run.pause(ids);
    const report = totalOf(ids, await run.read(ids));
    const done = report.replays.filter(({ state }) => state === 'done').length;
    if (ids.length !== plan.steps.length || ids.length !== done) shell.exitCode = 1;
    answer(shell, options, { ...plan.window, ...report }, textOf(report));
  } finally {
    shown.end();
  }
}

function textOf({ replays, lost, matched, done, failed, seconds }: ReplayReport): string {
  const told = (count: number, text: string): string[] => (count > 0 ? [`${counted(count, 'replay')} ${text}`] : []);
  const inState = (state: Replay['state']) => replays.filter((replay) => replay.state === state);
  const waiting = [...inState('running'), ...inState('paused')].filter(({ isDisabled }) => isDisabled);
  return [
    `${counted(replays.length, 'replay')}: ${done} of ${counted(matched, 'delivery', 'deliveries')} delivered, ${failed} left to the retries, in ${seconds} s`,
    ...told(inState('cancelled').length, 'cancelled, by another command: deliveries handed over before are still made'),
    ...told(lost.length, 'lost: Redis knows nothing of them any more, the same command starts again'),
    ...told(waiting.length, 'waiting until the webhook is enabled: --cancel ends it'),
    ...told(inState('paused').length, 'paused: the same command continues, --cancel ends it'),
  ].join('\n');
}

function momentOf(text: string): number {
  const moment = readMoment(text);
  if (moment === undefined)
    throw new InvalidArgumentError(
      'A day of UTC such as 2030-01-01, or a time with its zone such as 2030-01-01T00:00:00Z, is expected.',
    );
  return moment;
}

const LOOK_MS = 500;

type Read = (ids: readonly string[]) => Promise<readonly FollowedReplay[]>;

/**
 * Shows the progress of replays until each of them has ended, is paused by another command, or waits for its webhook to be
 * enabled. Progress counts the records that were looked at; some of them need no delivery.
 */
export async function follow(ids: readonly string[], read: Read, shown: Progress, everyMs = LOOK_MS): Promise<void> {
  let found = await read(ids);
  const records = sum(found, (replay) => replay.matched);
  let before = records - leftOf(found);
  shown.begin('delivering again', records, before);
  for (; ; found = await read(ids)) {
    const lookedAt = records - leftOf(found);
    if (lookedAt > before) shown.done(lookedAt - before);
    before = lookedAt;
    if (!found.some(goesOn)) return;
    await delay(everyMs);
  }
}

type ReplayReport = ReturnType<typeof totalOf>;

/** Sums up replays in the form that the command prints. `lost` contains the ids that Redis no longer knows. */
export function totalOf(ids: readonly string[], found: readonly FollowedReplay[]) {
  const now = Date.now();
  const begun = Math.min(now, ...found.map(({ createdAt }) => Date.parse(createdAt)));
  const ended = Math.max(begun, ...found.map(({ endedAt }) => (endedAt === null ? now : Date.parse(endedAt))));
  return {
    replays: found.map(({ id, webhookId, isDisabled, state, matched, done, failed }) => ({
      id,
      webhookId,
      isDisabled,
      state,
      matched,
      done,
      failed,
    })),
    lost: ids.filter((id) => !found.some((replay) => replay.id === id)),
    matched: sum(found, ({ matched }) => matched),
    done: sum(found, ({ done }) => done),
    failed: sum(found, ({ failed }) => failed),
    seconds: Math.round((ended - begun) / 100) / 10,
  };
}

const goesOn = ({ state, isDisabled }: FollowedReplay): boolean => state === 'running' && !isDisabled;

const leftOf = (found: readonly Replay[]): number => sum(found, ({ matched, done, failed }) => matched - done - failed);

const sum = (found: readonly Replay[], of: (replay: Replay) => number): number =>
  found.reduce((total, replay) => total + of(replay), 0);
