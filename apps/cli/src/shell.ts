import type { Environment } from '@relay/config';

/** Access of a command to its process. `main.ts` makes it; commands use nothing else. */
export interface Shell {
  readonly env: Environment;
  readFile(path: string): string;
  /** Standard input to its end. */
  readInput(): Promise<string>;
  /** A line of the answer, on standard output. Control characters in it are escaped. */
  print(text: string): void;
  /** A line for a person, on standard error: notes, progress, errors. */
  note(text: string): void;
  /** Whether a person watches standard error. */
  readonly isTerminal: boolean;
  /** Resolves when the process is asked to end (Ctrl-C, SIGTERM, SIGHUP); a second signal ends it at once. */
  interrupted(): Promise<void>;
  /** 0, or 1 when a request was not fulfilled or a fault was found. */
  exitCode: 0 | 1;
}

/** Prints an answer for a program or for a person. */
export function answer(shell: Shell, { json }: { json?: boolean }, value: unknown, text: string): void {
  shell.print(json === true ? JSON.stringify(value) : text);
}
