// A home for one run of one command, with its own Kafka and Redis; nothing of it stays.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './paths.mjs';
import { isAlive } from './process.mjs';
import { down } from './stack.mjs';

const homes = join(root, '.relay');

export const privateHome = (command) => join(homes, `${command}-${process.pid}`);

/** Ends and deletes what killed runs of a command left behind. */
export async function sweep(command) {
  if (!existsSync(homes)) return;
  for (const name of readdirSync(homes)) {
    const [, of, owner] = /^([a-z]+)-(\d+)$/.exec(name) ?? [];
    if (of === command && !isAlive(Number(owner))) await discard(join(homes, name));
  }
}

export async function discard(folder) {
  if (!existsSync(folder)) return;
  await down(folder, { deleteData: true });
  rmSync(folder, { recursive: true, force: true });
}
