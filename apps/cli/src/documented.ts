import type { Command } from 'commander';

/** Gives a command its example and, unless it is only a group, `--json`. */
export function documented(command: Command, example: string): Command {
  return command.option('--json', 'print JSON').addHelpText('after', `\nExample:\n  $ relay ${example}`);
}

/** Shows an example of a group's commands. */
export function documentedGroup(command: Command, example: string): Command {
  return command.addHelpText('after', `\nExample:\n  $ relay ${example}`);
}
