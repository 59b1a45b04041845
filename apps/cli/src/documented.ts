import type { Command } from 'commander';

const EXIT_CODES = 'Exit code: 0 success; 1 failure, incomplete, or a fault found; 2 usage error.';

/** Adds `--json`, an example and the exit codes to a command. */
export function documented(command: Command, example: string): Command {
  return documentedGroup(command.option('--json', 'print JSON'), example);
}

/** Adds an example and the exit codes to the help of a group. */
export function documentedGroup(command: Command, example: string): Command {
  return command.addHelpText('after', `\nExample:\n  $ relay ${example}\n\n${EXIT_CODES}`);
}
