import type { Command } from 'commander';

/** The webhooks that a command changes. */
export interface Choice {
  json?: boolean;
  partner?: string;
}

export const withChoice = (command: Command): Command =>
  command.argument('[id...]', 'ids of webhooks').option('--partner <id>', 'all webhooks of this partner');

/** Ends the command with a usage error unless it selects webhooks: by ids, or by partner. */
export function assertChoice(command: Command, ids: readonly string[], { partner }: Choice): void {
  if (ids.length > 0 === (partner !== undefined))
    command.error('error: say which webhooks: either their ids, or --partner');
}

export const notFound = (id: string): string => `not found ${id}: \`relay webhooks list\` shows the existing ones`;
