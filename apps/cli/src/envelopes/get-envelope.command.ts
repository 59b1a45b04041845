import { ENVELOPE_TYPES, type EnvelopeType } from '@relay/events';
import { OperationsRefused } from '@relay/operations-client';
import type { EnvelopeStory } from '@relay/story';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { z } from 'zod';
import { documented } from '../documented.js';
import { operationsOf } from '../operations.js';
import { answer, type Shell } from '../shell.js';
import { followStory } from './follow-story.js';
import { storyText } from './story-text.js';

interface Options {
  json?: boolean;
  follow?: boolean;
  type?: EnvelopeType;
  around?: string;
}

export function defineGetEnvelope(group: Command, shell: Shell): void {
  const command = group
    .command('get')
    .description('show what became of an envelope: its mark, its deliveries, every attempt')
    .argument('<id>', 'id of the envelope', envelopeIdOf)
    .addOption(new Option('--type <type>', 'its event type, where it was never attempted').choices(ENVELOPE_TYPES))
    .option('--around <time>', 'with --type: about when it was accepted, to within a minute')
    .option('--follow', 'go on until every delivery has ended, with what is new')
    .action(async (id: string, options: Options) => {
      const api = operationsOf(shell);
      const { type, around } = options;
      const read = (): Promise<EnvelopeStory | undefined> =>
        api.call('readEnvelopeStory', { path: { id }, query: { type, around } }).catch((error: unknown) => {
          if (error instanceof OperationsRefused && error.status === 404) return undefined;
          throw error;
        });
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
  documented(command, `${group.name()} get 3c2a5a9e-6d0f-4b3c-9c57-1c7c1c0a7f11 --follow`);
}

function envelopeIdOf(text: string): string {
  if (!z.guid().safeParse(text).success) throw new InvalidArgumentError('The id of an envelope is a UUID.');
  return text.toLowerCase();
}
