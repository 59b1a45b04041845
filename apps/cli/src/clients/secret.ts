import type { Shell } from '../shell.js';

/**
 * Prints issued credentials as JSON in any case, so that they can be piped into a safe place; the relay keeps only a
 * hash.
 */
export function printSecret(shell: Shell, { json }: { json?: boolean }, issued: object): void {
  shell.print(JSON.stringify(issued, undefined, json === true ? 0 : 2));
  if (json !== true) shell.note('This is shown once: save it now.');
}
