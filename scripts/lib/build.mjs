// From a fresh clone to built code: the first step of every command of the repository, quick when nothing changed.
import { existsSync, lstatSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { clientApi } from './client-api.mjs';
import { withLock } from './lock.mjs';
import { appMain, node24, root } from './paths.mjs';
import { buildPages, pageApps, pageDocument } from './pages.mjs';
import { Fault, run } from './process.mjs';

const inRoot = (...names) => join(root, ...names);
const QUIETLY = ['--no-audit', '--no-fund', '--loglevel=error'];
const changedAt = (path) => (existsSync(path) ? statSync(path).mtimeMs : 0);

/** Installs the dependencies unless node_modules is as new as package-lock.json. */
export const install = (signal) => alone(signal, () => installed(signal));

/** Installs and builds; leaves dist alone when it is newer than every source, since other processes may run from it. */
export const build = (signal) => alone(signal, () => installed(signal).then(() => built(signal)));

/** The apps that the repository has, in alphabetical order. */
const apps = () => readdirSync(inRoot('apps')).filter((app) => existsSync(inRoot('apps', app, 'src', 'main.ts')));

const alone = (signal, task) => withLock(inRoot('.relay', 'build.lock'), signal, task);

async function installed(signal) {
  // npm writes this file last, so an interrupted install does not count.
  const stamp = inRoot('node_modules', '.package-lock.json');
  if (changedAt(stamp) < changedAt(inRoot('package-lock.json'))) {
    // npm ci empties node_modules first, and through a link that of another work tree.
    if (lstatSync(inRoot('node_modules'), { throwIfNoEntry: false })?.isSymbolicLink()) {
      throw new Fault(
        'node_modules is a link and its packages are not those of package-lock.json: remove the link first',
      );
    }
    console.log('Installing dependencies (npm ci)');
    await run('npm', ['ci', '--ignore-scripts', ...QUIETLY], { cwd: root, signal, capture: true });
  }
  if (existsSync(node24)) return;
  // The only script of a package that runs: it fetches the Node of this platform.
  await run('npm', ['rebuild', 'node', '--ignore-scripts=false', ...QUIETLY], { cwd: root, signal, capture: true });
  if (!existsSync(node24)) throw new Fault(`npm rebuild node left out ${node24}`);
}

async function built(signal) {
  await clientApi(signal);
  const sources = ['apps', 'libs', 'package-lock.json', 'tsconfig.json', 'nest-cli.json'].map((name) =>
    newest(inRoot(name)),
  );
  const made = [...apps().map(appMain), ...pageApps().map(pageDocument)];
  const oldest = Math.min(...made.map(changedAt));
  if (oldest > Math.max(...sources)) return;
  console.log('Building (nest build, pages)');
  try {
    const nest = inRoot('node_modules', '@nestjs', 'cli', 'bin', 'nest.js');
    await run(node24, [nest, 'build'], { cwd: root, signal, capture: true });
    await buildPages();
  } catch (error) {
    rmSync(inRoot('dist'), { recursive: true, force: true }); // half a build must not look like a whole one
    throw error;
  }
}

// A folder's own time counts too: it changes when a file in it is deleted.
function newest(path) {
  const own = changedAt(path);
  if (!own || !statSync(path).isDirectory()) return own;
  return Math.max(own, ...readdirSync(path).map((name) => newest(join(path, name))));
}
