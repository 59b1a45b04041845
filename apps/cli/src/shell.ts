import { type Environment, parseEnv } from '@relay/config';
import { type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';

/** Everything that a command uses of its process. `main.ts` creates it. */
export interface Shell {
  readonly env: Environment;
  readFile(path: string): string;
  /** Reads standard input to its end. */
  readInput(): Promise<string>;
  /** Prints a line of the answer to standard output. Control characters in the line are escaped. */
  print(text: string): void;
  /** Prints a line for a person, such as a note, progress or an error, to standard error. */
  note(text: string): void;
  /** Whether standard error is a terminal, so a person may be watching. */
  readonly isTerminal: boolean;
  /** Resolves when the process is asked to end by Ctrl-C, SIGTERM or SIGHUP. A second signal ends the process at once. */
  interrupted(): Promise<void>;
  /** 0; or 1 if a request was not fulfilled or a fault was found. */
  exitCode: 0 | 1;
}

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

/** Parses an option that is a number. @param expected the text of the usage error */
export const numberOf =
  (pattern: RegExp, expected: string) =>
  (text: string): number => {
    if (!pattern.test(text)) throw new InvalidArgumentError(expected);
    return Number(text);
  };

/**
 * Reads only the variables that a command needs, because for example `topics create` must run without keys.
 * @throws ConfigurationFault that names every fault
 */
export const settingsOf = <G extends z.core.$ZodLooseShape>(shell: Shell, group: G): z.infer<z.ZodObject<G>> =>
  parseEnv(z.object(group), shell.env, (path) => shell.readFile(path));

/**
 * Reads a secret from a file, or from standard input for `-`. A secret is never an argument, because every user of the
 * machine can see the arguments of a process, and shells and clusters store them.
 * @throws Error that names the option, if there is nothing to read
 */
export async function readSecret(shell: Shell, option: string, file: string): Promise<string> {
  const isInput = file === '-';
  const expected = `${option} names a file, or - for standard input`;
  const text = (isInput ? await shell.readInput() : readFileOf(shell, file, expected)).trim();
  if (text === '')
    throw new Error(`${isInput ? 'Standard input' : file} is empty: ${option} names what holds the secret`);
  return text;
}

/** @param expected says in the error what the file should be */
export function readFileOf(shell: Shell, file: string, expected: string): string {
  try {
    return shell.readFile(file);
  } catch (cause) {
    throw new Error(`${file} cannot be read: ${expected}`, { cause });
  }
}

export interface LoginOptions {
  readonly clientId?: string;
  readonly clientSecretFile?: string;
}

/** Adds the options of a client that calls the ingress. @param who the client in the help text, such as `a source` */
export const withLogin = (command: Command, who: string): Command =>
  command
    .option('--client-id <id>', `client id of ${who}; RELAY_CLIENT_ID without it`)
    .option(
      '--client-secret-file <file>',
      'a file with its secret, - for standard input; RELAY_CLIENT_SECRET without it',
    );

/**
 * Returns the client that calls the ingress, from options or else from settings; undefined if its id or secret is missing.
 */
export async function loginOf(
  shell: Shell,
  { clientSecretFile: file, ...options }: LoginOptions,
  settings: { readonly RELAY_CLIENT_ID?: string | undefined; readonly RELAY_CLIENT_SECRET?: string | undefined },
): Promise<{ readonly clientId: string; readonly clientSecret: string } | undefined> {
  const clientId = options.clientId ?? settings.RELAY_CLIENT_ID;
  const clientSecret =
    file === undefined ? settings.RELAY_CLIENT_SECRET : await readSecret(shell, '--client-secret-file', file);
  return clientId === undefined || clientSecret === undefined ? undefined : { clientId, clientSecret };
}

export function answer(shell: Shell, { json }: { json?: boolean }, value: unknown, text: string): void {
  shell.print(json === true ? JSON.stringify(value) : text);
}

/** Prints issued credentials as JSON in any case, so that a pipe can store them. The relay keeps only a hash of them. */
export function printSecret(shell: Shell, { json }: { json?: boolean }, issued: object): void {
  shell.print(JSON.stringify(issued, undefined, json === true ? 0 : 2));
  if (json !== true) shell.note('This is shown once: save it now.');
}

/** Formats rows as text with columns two spaces apart. The last column is not padded. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, at) => (widths[at] = Math.max(widths[at] ?? 0, cell.length)));
  const lines = rows.map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}

/** Returns a number with its noun, for example `1 dead letter` or `2 dead letters`. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;
