import { DeadLetter, isEmpty, type DeadLetterReason } from '@relay/dead-letters';
import { ENVELOPE_TYPES, type EnvelopeType } from '@relay/events';
import { NO_WEBHOOK } from '@relay/jobs';
import { Option, type Command } from 'commander';

export interface Filters {
  json?: boolean;
  type?: EnvelopeType;
  reason?: DeadLetterReason;
  webhook?: string;
}

/** Options that select dead letters. */
export interface Selection extends Filters {
  all?: true;
}

export const withFilters = (command: Command): Command =>
  command
    .addOption(new Option('--type <type>', 'only of this event type').choices(ENVELOPE_TYPES))
    .addOption(new Option('--reason <reason>', 'only of this reason').choices(DeadLetter.shape.reason.options))
    .option('--webhook <id>', 'only of this webhook');

/** The id of a dead letter of a whole envelope starts with `-`, so commander may take it for an unknown option. */
export const withSelection = (command: Command): Command =>
  withFilters(command.argument('[id...]', 'ids of dead letters, or of envelopes'))
    .option('--all', 'every dead letter')
    .allowUnknownOption();

/** Ends the command with a usage error unless it selects dead letters: by ids, --all, or filters. */
export function assertSelection(command: Command, ids: readonly string[], selection: Selection): void {
  const unknown = ids.find((id) => id.startsWith('-') && !id.startsWith(`${NO_WEBHOOK}_`));
  if (unknown !== undefined) command.error(`error: unknown option '${unknown}'`);
  const ways = [ids.length > 0, selection.all === true || !isEmpty(selection)];
  if (ways.filter(Boolean).length !== 1)
    command.error('error: say which dead letters: either their ids, or --all, --type, --reason, --webhook');
}

export const notFound = (id: string): string => `not found ${id}: \`relay dead-letters list\` shows the existing ones`;
