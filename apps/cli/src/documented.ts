import type { Command } from 'commander';

const EXIT_CODES = 'Exit code: 0 done; 1 failed, or not all was done, or a fault was found; 2 not understood.';

/** Adds `--json`, an example and the exit codes to a command. */
export function documented(command: Command, example: string): Command {
  return documentedGroup(command.option('--json', 'print JSON'), example);
}

/** Adds an example and the exit codes to the help of a group. */
export function documentedGroup(command: Command, example: string): Command {
  return command.addHelpText('after', `\nExample:\n  $ relay ${example}\n\n${EXIT_CODES}`);
}
