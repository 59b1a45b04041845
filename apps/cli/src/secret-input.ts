import type { Shell } from './shell.js';

/**
 * Reads a secret from a file, or from standard input for `-`. A secret is never an argument: every user of the machine
 * can see the arguments of a process, and shells and clusters store them.
 * @throws Error naming the option, when there is nothing to read
 */
export async function readSecret(shell: Shell, option: string, file: string): Promise<string> {
  const text = (await read(shell, option, file)).trim();
  if (text === '')
    throw new Error(`${file === '-' ? 'Standard input' : file} is empty: ${option} names what holds the secret`);
  return text;
}

async function read(shell: Shell, option: string, file: string): Promise<string> {
  if (file === '-') return shell.readInput();
  try {
    return shell.readFile(file);
  } catch (cause) {
    throw new Error(`${file} cannot be read: ${option} names a file, or - for standard input`, { cause });
  }
}
