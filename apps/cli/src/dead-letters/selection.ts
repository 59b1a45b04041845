import { EVENT_TYPES } from '@relay/events';
import { DeadLetter, NO_WEBHOOK } from '@relay/retry';
import { Option, type Command } from 'commander';
import type { DeadLetterBox, StoredLetter } from './dead-letter-box.adapter.js';
import { isEmpty, isNamed, matches, type LetterFilter } from './letter-filter.js';

/** Options of a command that works on chosen letters. */
export interface Selection extends LetterFilter {
  json?: boolean;
  all?: true;
}

export const withFilters = (command: Command): Command =>
  command
    .addOption(new Option('--type <type>', 'only of this event type').choices(EVENT_TYPES))
    .addOption(new Option('--reason <reason>', 'only of this reason').choices(DeadLetter.shape.reason.options))
    .option('--webhook <id>', 'only of this webhook');

/** The id of a whole envelope's letter starts with `-`: what commander takes for an unknown option may be one. */
export const withSelection = (command: Command): Command =>
  withFilters(command.argument('[id...]', 'ids of dead letters, or of envelopes'))
    .option('--all', 'every dead letter')
    .allowUnknownOption();

/** Ends the command with a usage error unless it says which letters it means: ids, or --all, or filters. */
export function assertSelection(command: Command, ids: readonly string[], selection: Selection): void {
  const unknown = ids.find((id) => id.startsWith('-') && !id.startsWith(`${NO_WEBHOOK}_`));
  if (unknown !== undefined) command.error(`error: unknown option '${unknown}'`);
  const ways = [ids.length > 0, selection.all === true || !isEmpty(selection)];
  if (ways.filter(Boolean).length !== 1)
    command.error('error: say which dead letters: either their ids, or --all, --type, --reason, --webhook');
}

/** The chosen letters in slices, oldest first. `missing` is given the ids that name none. */
export async function* chosen(
  box: DeadLetterBox,
  ids: readonly string[],
  selection: Selection,
  missing: (ids: string[]) => void,
): AsyncGenerator<StoredLetter[]> {
  const given = new Set(ids.map((id) => id.toLowerCase()));
  const stored = await box.ids();
  const named = given.size === 0 ? stored : stored.filter((id) => isNamed(id, given));
  missing([...given].filter((id) => !named.some((letterId) => isNamed(letterId, new Set([id])))));
  for await (const slice of box.read(named)) yield slice.filter(({ letter }) => matches(letter, selection));
}
