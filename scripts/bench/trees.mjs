// Two builds side by side: this work tree as it is now, and another commit. Both lie in folders of the same kind below the benchmark's
// home, so that neither has a shorter path, and further edits or builds of this work tree change nothing.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { withLock } from '../lib/lock.mjs';
import { node24, root } from '../lib/paths.mjs';
import { commandLine, end, Fault, isAlive, run, succeeds } from '../lib/process.mjs';

const git = (args, options) => run('git', args, { cwd: root, capture: true, ...options }).then((text) => text.trim());
/** The folder with the homes of commands. */
const homes = join(root, '.relay');
/** The files and folders that a build is made from. */
const SOURCES = ['apps', 'libs', 'package.json', 'package-lock.json', 'tsconfig.json', 'nest-cli.json'];

/** The commit that a name stands for. */
export async function commitOf(rev) {
  const commit = await git(['rev-parse', '--verify', '--quiet', `${rev}^{commit}`]).catch(() => undefined);
  if (commit === undefined) throw new Fault(`--check ${rev}: git knows no such commit`);
  return commit;
}

/** Whether this work tree has the same sources as that commit. */
export async function isSameCode(commit) {
  const untracked = await git(['ls-files', '--others', '--exclude-standard', '--', ...SOURCES]);
  return untracked === '' && (await succeeds('git', ['-C', root, 'diff', '--quiet', commit, '--', ...SOURCES], 10_000));
}

/** `mine`, which must be built already, and `other`, which is built here; both go with the benchmark. */
export async function twoTrees(home, commit, signal, ends) {
  const folder = join(home, 'trees');
  // A killed npm or build may still write for a moment.
  ends.push(() => rm(folder, { recursive: true, force: true, maxRetries: 30, retryDelay: 100 }));
  const mine = join(folder, 'mine_');
  const other = join(folder, 'other');
  mkdirSync(mine, { recursive: true });
  // Waits while somebody builds.
  await withLock(join(homes, 'build.lock'), signal, () => {
    for (const name of ['dist', 'package.json']) cpSync(join(root, name), join(mine, name), { recursive: true });
  });
  symlinkSync(join(root, 'node_modules'), join(mine, 'node_modules'));

  console.log(`building ${commit.slice(0, 10)}`);
  // An index of its own, because git worktree leaves an entry in the repository when the benchmark is killed.
  const env = { ...process.env, GIT_INDEX_FILE: join(folder, 'index') };
  await git(['read-tree', commit], { env, signal });
  await git(['checkout-index', '--all', `--prefix=${other}/`], { env, signal });
  if (sameLock(root, other)) symlinkSync(join(root, 'node_modules'), join(other, 'node_modules'));
  else {
    console.log('its package-lock.json differs: npm ci');
    await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: other, signal });
  }
  const nest = join(other, 'node_modules', '@nestjs', 'cli', 'bin', 'nest.js');
  const program = programOf(other, 'other ');
  const generator = join(other, 'scripts', 'client-api.mjs');
  for (const args of [[generator], [nest, 'build']])
    await run(program.node, args, { cwd: other, signal, capture: true });
  return { mine: programOf(mine, 'mine '), other: program };
}

/** Ends roles of a check that was killed: they wait for its stores for ever, and burden the next measurement. */
export async function endLeftRoles() {
  const ofCheck = /\/bench-(\d+)\/trees\/\w+\/dist\/apps\//;
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  for (const pid of pids.map(Number)) {
    const line = await commandLine(pid).catch(() => ''); // it may have ended meanwhile
    if (line.includes(homes) && !isAlive(Number(ofCheck.exec(line)?.[1] ?? process.pid))) await end(pid, 5_000);
  }
}

const sameLock = (...folders) => {
  const [one, two] = folders.map((folder) => readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  return one === two;
};

const programOf = (folder, label) => {
  const node = join(folder, 'node_modules', 'node', 'bin', 'node');
  return {
    label,
    node: existsSync(node) ? node : node24,
    mainOf: (app) => join(folder, 'dist', 'apps', app, 'src', 'main.js'),
  };
};
