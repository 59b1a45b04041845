// A run's own cgroups, by the name of its home, in the tree of each controller.
import { existsSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

const CGROUPS = '/sys/fs/cgroup';

export function removeCgroups(name) {
  // With cgroup v1 each controller has a tree of its own.
  const trees = readdirSync(CGROUPS, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const tree of ['.', ...trees.map((entry) => entry.name)]) remove(join(CGROUPS, tree, name));
}

/** Files of a cgroup go with its folder, which only its own, empty groups keep. */
function remove(folder) {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) remove(join(folder, entry.name));
  rmdirSync(folder);
}
