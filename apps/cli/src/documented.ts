import type { Command } from 'commander';

const EXIT_CODES = 'Exit code: 0 done; 1 failed, or not all was done, or a fault was found; 2 not understood.';

/** Gives a command its example, its exit codes and, unless it is only a group, `--json`. */
export function documented(command: Command, example: string): Command {
  return documentedGroup(command.option('--json', 'print JSON'), example);
}

/** Shows an example of a group's commands, and what their exit codes say. */
export function documentedGroup(command: Command, example: string): Command {
  return command.addHelpText('after', `\nExample:\n  $ relay ${example}\n\n${EXIT_CODES}`);
}
