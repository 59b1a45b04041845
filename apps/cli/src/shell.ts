import type { Environment } from '@relay/config';

/** What a command may touch of its process. `main.ts` makes it; commands never reach further. */
export interface Shell {
  readonly env: Environment;
  readFile(path: string): string;
  /** Standard input to its end. */
  readInput(): Promise<string>;
  /** A line of the answer, on standard output. */
  print(text: string): void;
  /** A line for a person, on standard error: notes, progress, errors. */
  note(text: string): void;
  /** Whether a person watches standard error. */
  readonly isTerminal: boolean;
  /** Resolves when the process is asked to end (Ctrl-C, SIGTERM, SIGHUP); asked once more it ends at once. */
  interrupted(): Promise<void>;
  /** 0 unless a command says otherwise: 1 when something asked for was not done, or a fault was found. */
  exitCode: 0 | 1;
}

/** Prints an answer for a program or for a person. */
export function answer(shell: Shell, { json }: { json?: boolean }, value: unknown, text: string): void {
  shell.print(json === true ? JSON.stringify(value) : text);
}
