// npm run test:shards: the e2e specs with 1, 3 and 16 shards, on one Redis and each file on a Redis Cluster of its own. `3` or
// `3@cluster` chooses some of these; what follows `--` goes to jest. Hours on two cores.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { node24, root } from './lib/paths.mjs';
import { Fault, script } from './lib/process.mjs';

const MATRIX = ['server', 'cluster'].flatMap((kind) => [1, 3, 16].map((shards) => `${shards}@${kind}`));

await script(async (signal) => {
  const args = process.argv.slice(2);
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  const chosen = args.slice(0, end);
  const isChosen = (name) => chosen.length === 0 || chosen.some((each) => each === name || each === name.split('@')[0]);
  const names = MATRIX.filter(isChosen);
  if (names.length < chosen.length) throw new Fault(`usage: npm run test:shards -- [${MATRIX.join('|')}] [-- JEST]`);
  const failed = [];
  for (const name of names) {
    console.log(`\n${name}: the e2e specs`);
    if ((await specs(name, args.slice(end + 1), signal)) !== 0) failed.push(name);
  }
  const passed = names.filter((name) => !failed.includes(name));
  console.log(`\npassed: ${passed.join(', ') || 'none'}; failed: ${failed.join(', ') || 'none'}`);
  return failed.length === 0 ? 0 : 1;
});

async function specs(name, args, signal) {
  const [REDIS_SHARDS, REDIS_KIND] = name.split('@');
  const child = spawn(node24, [join(root, 'scripts', 'test.mjs'), '--selectProjects', 'e2e', ...args], {
    cwd: root,
    env: { ...process.env, REDIS_SHARDS, REDIS_KIND },
    stdio: 'inherit',
  });
  const stop = () => child.kill('SIGTERM');
  signal.addEventListener('abort', stop);
  const [code] = await once(child, 'exit');
  signal.removeEventListener('abort', stop);
  signal.throwIfAborted();
  return code;
}
