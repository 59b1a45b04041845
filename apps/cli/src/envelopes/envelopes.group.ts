import { setTimeout as delay } from 'node:timers/promises';
import { ENVELOPE_TYPES, type EnvelopeType } from '@relay/events';
import type { EnvelopeStory } from '@relay/story';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { z } from 'zod';
import { operationsOf, unlessMissing } from '../operations.js';
import { answer, documented, documentedGroup, type Shell } from '../shell.js';
import { linesOf, storyText } from './story-text.js';

export function defineEnvelopes(group: Command, shell: Shell): void {
  const command = group
    .command('get')
    .description('show what became of an envelope: its mark, its deliveries, every attempt')
    .argument('<id>', 'id of the envelope', envelopeIdOf)
    .addOption(new Option('--type <type>', 'its event type, where it was never attempted').choices(ENVELOPE_TYPES))
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

/** Without any delivery, an envelope has ended when it is settled: no webhook wants it. */
const hasEnded = ({ deliveries, mark }: EnvelopeStory): boolean =>
  mark !== 'published' && deliveries.every(({ state }) => ENDED.has(state));

/** Prints what is new in a story until every delivery has ended or the command is: lines, or with `--json` the whole story. */
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
