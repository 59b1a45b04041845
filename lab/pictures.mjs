// Pictures of the pages, taken from a running relay.
import { resolve } from 'node:path';
import { build } from '../scripts/lib/build.mjs';
import { need } from '../scripts/lib/packages.mjs';
import { node24, root } from '../scripts/lib/paths.mjs';
import { discard, privateHome, sweep } from '../scripts/lib/private-home.mjs';
import { Fault, run, script } from '../scripts/lib/process.mjs';
import { picturesOfDocs } from './pictures/docs.mjs';

const PAGES = ['portal', 'console'];
const USAGE = `usage: node lab/pictures.mjs FOLDER [portal|console]   every page in light, dark and 360 pixels wide, as the specs drive it
       node lab/pictures.mjs --docs                    those of docs/pictures`;

await script(async (signal) => {
  const [folder, page] = process.argv.slice(2);
  if (folder === undefined || (page !== undefined && !PAGES.includes(page))) throw new Fault(USAGE);
  await (folder === '--docs' ? ofDocs(signal) : ofSpecs(resolve(folder), page, signal));
});

async function ofSpecs(folder, page, signal) {
  await need(['chromium'], signal);
  const specs = (page === undefined ? PAGES : [page]).join('|');
  const args = ['scripts/test.mjs', '--selectProjects', 'e2e', '--testPathPatterns', `e2e/(${specs})`];
  await run(node24, args, { cwd: root, signal, env: { ...process.env, SCREENSHOTS: folder } });
}

async function ofDocs(signal) {
  const home = privateHome('pictures');
  const ends = []; // cleanup, the latest first
  try {
    await build(signal);
    await sweep('pictures');
    ends.push(() => discard(home));
    await picturesOfDocs(home, signal, ends);
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}
