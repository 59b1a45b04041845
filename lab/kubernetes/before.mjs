// The version before this one: its chart and its image. The last release, or where there is none yet, a commit of some time ago.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { images as imagesOf } from '../images/images.mjs';
import { root } from '../../scripts/lib/paths.mjs';
import { Fault, run } from '../../scripts/lib/process.mjs';

/** Without a release the commit to begin with stays the same for so many commits, and its image with it. */
const STEP = 25;
const LEAST = 25;

/** Its revision, the folder of its chart, and its image. */
export async function versionBefore(home, signal) {
  const git = (...args) => run('git', ['-C', root, ...args], { capture: true, signal });
  const released = await git('describe', '--tags', '--abbrev=0', 'HEAD^').catch(() => undefined);
  const ago = LEAST + (Number(await git('rev-list', '--count', 'HEAD')) % STEP);
  const named = released?.trim() ?? `HEAD~${ago}`;
  const revision = await git('rev-parse', '--short', named).catch(() => {
    throw new Fault(`there is no ${named} to upgrade from: fetch the tags of the repository, or its commits`);
  });
  const from = join(home, 'before');
  const archive = join(home, 'before.tar');
  mkdirSync(from);
  await git('archive', '--format=tar', `--output=${archive}`, revision.trim());
  await run('tar', ['-xf', archive, '-C', from], { capture: true, signal });
  const { 'partner-relay': image } = await imagesOf(['partner-relay'], { from, signal });
  return { revision: revision.trim(), chart: join(from, 'charts', 'partner-relay'), image };
}
