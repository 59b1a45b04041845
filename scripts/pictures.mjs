// node scripts/pictures.mjs FOLDER [portal|console]: pictures of every page in light, dark and 360 pixels wide, taken from a running
// relay while the specs of the pages drive it.
import { resolve } from 'node:path';
import { need } from './lib/packages.mjs';
import { node24, root } from './lib/paths.mjs';
import { Fault, run, script } from './lib/process.mjs';

const PAGES = ['portal', 'console'];

await script(async (signal) => {
  const [folder, page] = process.argv.slice(2);
  if (folder === undefined || (page !== undefined && !PAGES.includes(page)))
    throw new Fault('usage: node scripts/pictures.mjs FOLDER [portal|console]');
  await need(['chromium'], signal);
  const specs = (page === undefined ? PAGES : [page]).join('|');
  const args = ['scripts/test.mjs', '--selectProjects', 'e2e', '--testPathPatterns', `e2e/(${specs})`];
  await run(node24, args, { cwd: root, signal, env: { ...process.env, SCREENSHOTS: resolve(folder) } });
});
