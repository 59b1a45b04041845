import type { Shell } from './shell.js';

/**
 * A secret out of a file, or of standard input for `-`. Never the option's own text: every user of the machine sees the
 * arguments of a process, and shells and clusters keep them.
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
