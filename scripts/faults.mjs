// npm run test:faults: every fault of test/faults/rows against the built relay with real servers; see docs/evidence/faults.md.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from './lib/build.mjs';
import { node24, root } from './lib/paths.mjs';
import { discard, privateHome, sweep } from './lib/private-home.mjs';
import { end, script } from './lib/process.mjs';

const USAGE = `usage: npm run test:faults -- [--only <row or fault>[,…]] [--runs N] [--seed TEXT] [--fresh] [--write] [--list] [--sabotage]
  goes on where an interrupted run was; --fresh forgets the results of what is chosen
  writes docs/evidence/faults.md when all faults were chosen, or with --write what there is`;

const home = privateHome('faults');
const suite = join(root, 'test', 'faults');

await script(async (signal) => {
  if (process.argv.includes('--help')) {
    console.log(USAGE);
    return 0;
  }
  await build(signal);
  await sweep('faults');
  mkdirSync(home, { recursive: true });
  try {
    return await run(signal);
  } finally {
    await discard(home);
  }
});

async function run(signal) {
  const preload = pathToFileURL(join(root, 'scripts', 'lib', 'typescript.mjs')).href;
  const args = [
    '--disable-warning=ExperimentalWarning',
    '--import',
    preload,
    join(suite, 'engine', 'main.ts'),
    ...process.argv.slice(2),
  ];
  // A process group of its own, so that left-over processes of a run end with it.
  const child = spawn(node24, args, {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, RELAY_FAULTS_HOME: home },
  });
  const ended = new Promise((done, fail) => {
    child.on('error', fail);
    child.on('exit', (code) => done(code ?? 1));
  });
  const interrupt = () => end(-child.pid, 20_000);
  signal.addEventListener('abort', interrupt);
  try {
    return await ended;
  } finally {
    await end(-child.pid, 20_000);
  }
}
