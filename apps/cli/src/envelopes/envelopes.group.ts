import { setTimeout as delay } from 'node:timers/promises';
import type { AttemptTiming, EnvelopeType } from '@relay/events';
import type { EnvelopeStory } from '@relay/story';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { operationsOf, unlessMissing } from '../operations.js';
import { answer, counted, documented, documentedGroup, type Shell } from '../shell.js';

export function defineEnvelopes(group: Command, shell: Shell): void {
  const command = group
    .command('get')
    .description('show what became of an envelope: its mark, its deliveries, every attempt')
    .argument('<id>', 'id of the envelope', envelopeIdOf)
    .addOption(new Option('--type <type>', 'its event type, where it was never attempted'))
    .option('--around <time>', 'with --type: about when it was accepted, to within a minute')
    .option('--follow', 'go on until every delivery has ended, with what is new')
    .action(async (id: string, options: { json?: boolean; follow?: boolean; type?: EnvelopeType; around?: string }) => {
      const api = operationsOf(shell);
      const { type, around } = options;
      const read = (): Promise<EnvelopeStory | undefined> =>
        api.call('readEnvelopeStory', { path: { id }, query: { type, around } }).catch(unlessMissing);
      const story = await read();
      if (story === undefined) {
        shell.exitCode = 1;
        answer(shell, options, null, `Nothing is known of the envelope ${id}: it was never accepted, or too long ago.`);
        return;
      }
      if (story.incomplete.length > 0) shell.note(`Without what is away: ${story.incomplete.join(', ')}.`);
      answer(shell, options, story, storyText(story));
      if (options.follow === true) await followStory(story, read, shell, options);
    });
  const example = `${group.name()} get 3c2a5a9e-6d0f-4b3c-9c57-1c7c1c0a7f11`;
  documented(command, `${example} --follow`);
  documentedGroup(group, example);
}

function envelopeIdOf(text: string): string {
  if (!z.guid().safeParse(text).success) throw new InvalidArgumentError('The id of an envelope is a UUID.');
  return text.toLowerCase();
}

const LOOK_MS = 1_000;

const ENDED: ReadonlySet<string> = new Set(['delivered', 'dead-letter', 'replayed', 'purged', 'cancelled']);

/** An envelope that no webhook wants has no deliveries, so it has ended as soon as a worker has settled it. */
const hasEnded = ({ deliveries, mark }: EnvelopeStory): boolean =>
  mark !== 'published' && deliveries.every(({ state }) => ENDED.has(state));

/**
 * Reads the story every second and prints what is new, until every delivery has ended or the command is interrupted. With
 * `--json`, it prints the whole story after each change; otherwise it prints the new lines.
 */
async function followStory(
  begun: EnvelopeStory,
  read: () => Promise<EnvelopeStory | undefined>,
  shell: Pick<Shell, 'print' | 'interrupted'>,
  { json }: { json?: boolean },
): Promise<void> {
  let story = begun;
  const interruption = new AbortController();
  void shell.interrupted().then(() => interruption.abort());
  const printed = new Set(story.deliveries.flatMap(linesOf));
  while (!hasEnded(story) && !interruption.signal.aborted) {
    await delay(LOOK_MS);
    const next = (await read()) ?? story;
    if (json === true && JSON.stringify(next) !== JSON.stringify(story)) shell.print(JSON.stringify(next));
    story = next;
    if (json === true) continue;
    for (const delivery of story.deliveries) {
      const fresh = linesOf(delivery).filter((line) => !printed.has(line));
      for (const line of fresh) printed.add(line);
      if (fresh.length > 0) shell.print(fresh.join('\n'));
    }
  }
}

type Delivery = EnvelopeStory['deliveries'][number];

const MARKS = {
  published: 'published: it is in Kafka, no worker has settled it yet',
  settled: 'settled: every delivery of it has ended or is stored',
} as const;
const WAITS = {
  schedule: undefined,
  'retry-after': 'its endpoint asked for this time by Retry-After',
  breaker: 'the breaker of its webhook or endpoint is open',
  room: 'its endpoint has no room',
  disabled: 'its webhook is disabled',
  parked: 'its webhook is parked',
  replay: 'a replay will come to it',
} as const;
/** Maximum characters of an endpoint's answer in a line. `--json` prints more of the answer. */
const SHOWN_ANSWER = 100;

function storyText(story: EnvelopeStory): string {
  const { id, eventType, acceptedAt, source, record, mark, repeats, deliveries } = story;
  const head = [
    `envelope ${id}${eventType === null ? '' : ` of type ${eventType}`}`,
    acceptedAt === null ? undefined : `accepted ${acceptedAt}${source === null ? '' : ` from ${source}`}`,
    record === null
      ? 'its record is not known or no longer in the log'
      : `${record.topic}, partition ${record.partition}, offset ${record.offset}`,
    mark === null ? 'no mark: not seen within DEDUPE_WINDOW' : MARKS[mark],
    repeats === null || repeats.duplicates + repeats.conflicts === 0
      ? undefined
      : `came again ${counted(repeats.duplicates, 'time')}, and ${counted(repeats.conflicts, 'time')} with other content`,
    counted(deliveries.length, 'delivery', 'deliveries'),
  ].filter((line) => line !== undefined);
  return [head.join('\n'), ...deliveries.map((delivery) => linesOf(delivery).join('\n'))].join('\n\n');
}

const linesOf = (delivery: Delivery): string[] => [
  standingLine(delivery),
  ...delivery.attempts.map((attempt) => `  ${attemptLine(attempt)}`),
];

function standingLine(delivery: Delivery): string {
  const { webhookId, host, series, replayId, state, waitsFor, nextAttemptAt, reason, lastFailure, attempts } = delivery;
  const whose =
    webhookId === null ? 'the envelope as a whole' : `webhook ${webhookId}${host === null ? '' : ` (${host})`}`;
  const replay = series === 0 ? '' : `, replay ${replayId ?? series}`;
  const facts = [
    state.replace('-', ' '),
    waitsFor === null ? undefined : WAITS[waitsFor],
    reason,
    nextAttemptAt === null ? undefined : `next attempt ${nextAttemptAt}`,
    attempts.length === 0 ? lastFailure : undefined,
  ];
  return `${whose}${replay}: ${facts.filter((fact) => fact !== undefined && fact !== null).join(', ')}`;
}

const attemptLine = (attempt: Delivery['attempts'][number]): string =>
  [
    attempt.attempt ?? '-',
    attempt.at,
    attempt.status ?? attempt.error,
    attempt.durationMs === null ? null : `${attempt.durationMs} ms`,
    attempt.outcome === 'retry' ? 'failed' : attempt.outcome?.replace('-', ' '),
    [attempt.detail ?? attempt.reason, attempt.answer?.replaceAll(/\s+/g, ' ').slice(0, SHOWN_ANSWER)]
      .filter((text) => text !== undefined && text !== null)
      .join(': '),
    attempt.timing === null ? null : timingText(attempt.timing),
  ]
    .filter((cell) => cell !== null && cell !== undefined && cell !== '')
    .join('  ');

const STEPS = [
  ['waitMs', 'wait'],
  ['dnsMs', 'dns'],
  ['connectMs', 'connect'],
  ['tlsMs', 'tls'],
  ['firstByteMs', 'first byte'],
] as const;

/** Lists the steps of an attempt that took time, for example `on a kept connection, first byte 1002 ms`. */
export function timingText(timing: z.infer<typeof AttemptTiming>): string {
  const steps = STEPS.flatMap(([step, name]) => ((timing[step] ?? 0) > 0 ? [`${name} ${timing[step]} ms`] : []));
  return [timing.reused ? 'on a kept connection' : 'on a new connection', ...steps].join(', ');
}
