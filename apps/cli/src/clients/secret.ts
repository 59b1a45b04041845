import type { Shell } from '../shell.js';

/** Prints what was issued as JSON in any case, so that it can be piped into a safe place; only its hash is kept. */
export function printSecret(shell: Shell, { json }: { json?: boolean }, issued: object): void {
  shell.print(JSON.stringify(issued, undefined, json === true ? 0 : 2));
  if (json !== true) shell.note('This is shown once: keep it now.');
}
