// A home for one run of one command, with its own Kafka and Redis; nothing of it stays.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { node24, root } from './paths.mjs';
import { isAlive, run } from './process.mjs';
import { down } from './stack.mjs';

const homes = join(root, '.relay');
const clusterScript = join(root, 'scripts', 'kafka-cluster.mjs');

export const privateHome = (command) => join(homes, `${command}-${process.pid}`);

/** Ends processes and deletes folders of killed runs of a command. @param tidy in its own way */
export async function sweep(command, tidy = discard) {
  if (!existsSync(homes)) return;
  for (const name of readdirSync(homes)) {
    const [, of, pid] = /^([a-z]+)-(\d+)$/.exec(name) ?? [];
    if (of === command && !isAlive(Number(pid))) await tidy(join(homes, name));
  }
}

/** With whatever servers tests started in folders of their own below it. */
export async function discard(folder) {
  if (!existsSync(folder)) return;
  const own = readdirSync(folder).filter((name) => name.startsWith('relay-servers-'));
  for (const home of [folder, ...own.map((name) => join(folder, name))]) {
    await down(home, { deleteData: true });
    if (existsSync(join(home, 'cluster.json'))) await run(node24, [clusterScript, 'down', home], { capture: true });
  }
  for (const place of mountsBelow(folder)) await run('umount', ['--lazy', place], { capture: true });
  rmSync(folder, { recursive: true, force: true });
}

/** Small disks of a fault suite that was killed. */
function mountsBelow(folder) {
  if (!existsSync('/proc/mounts')) return [];
  const mounts = [...readFileSync('/proc/mounts', 'utf8').matchAll(/^\S+ (\S+) /gm)].map(([, place]) => place);
  return mounts.filter((place) => place.startsWith(`${folder}/`));
}
