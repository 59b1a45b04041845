import type { Command } from 'commander';

const EXIT_CODES = 'Exit code: 0 success; 1 failure, incomplete, or a fault found; 2 usage error.';

/** Adds `--json`, an example and the exit codes to a command. */
export function documented(command: Command, example: string): Command {
  return documentedGroup(command.option('--json', 'print JSON'), example);
}

/** Adds an example and the exit codes to the help of a group. */
export function documentedGroup(command: Command, example: string): Command {
  const called = !isRescue(command) || example.startsWith('admin ') ? example : `admin ${example}`;
  return command.addHelpText('after', `\nExample:\n  $ relay ${called}\n\n${EXIT_CODES}`);
}

const isRescue = (command: Command): boolean =>
  command.parent !== null && (command.parent.name() === 'admin' || isRescue(command.parent));
