// npm run test:image [-- --drop-base]: builds the image from the Dockerfile with podman and judges what was built, running. Linux and
// root. Nothing stays but the base image in the cache, which --drop-base deletes; no container engine's own store is touched.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { alone } from './lib/alone.mjs';
import { install } from '../scripts/lib/build.mjs';
import { removeCgroups } from './lib/cgroups.mjs';
import { withLock } from '../scripts/lib/lock.mjs';
import { need } from '../scripts/lib/packages.mjs';
import { cache, node24, root } from '../scripts/lib/paths.mjs';
import { discard, privateHome, sweep } from '../scripts/lib/private-home.mjs';
import { choosePort } from '../scripts/lib/ports.mjs';
import { Fault, run, script } from '../scripts/lib/process.mjs';
import { up } from '../scripts/lib/stack.mjs';
import { baseFolder } from './image/base.mjs';
import { npmSettings } from './image/npm-settings.mjs';

const home = privateHome('image');

await script(async (signal) => {
  if (process.argv.includes('--drop-base')) {
    rmSync(baseFolder, { recursive: true, force: true });
    console.log(`deleted ${baseFolder}`);
    return 0;
  }
  if (process.platform !== 'linux' || process.getuid() !== 0)
    throw new Fault('npm run test:image needs Linux and root');
  await install(signal);
  await need(['podman', 'runc', 'mmdebstrap'], signal);
  await sweep('image', tidy);
  mkdirSync(home, { recursive: true });
  try {
    return await withLock(join(cache, 'image.lock'), signal, () => judged(signal));
  } finally {
    await tidy(home);
  }
});

async function judged(signal) {
  const { KAFKA_BROKERS: _, REDIS_URL: __, ...outer } = process.env;
  const anyPort = { KAFKA_PORT: '0', KAFKA_CONTROLLER_PORT: '0', REDIS_PORT: '0' };
  const { values } = await up(home, { env: { ...outer, RELAY_CONTAINERS: '0', ...anyPort }, signal });
  const ports = {};
  for (const name of ['ingress', 'worker', 'operations', 'http', 'dashboard'])
    ports[name] = await choosePort({}, 'PORT');
  const revision = await run('git', ['rev-parse', 'HEAD'], { cwd: root, signal, capture: true });
  const task = { home, values, ports, revision: revision.trim(), npm: await npmSettings(home, signal) };
  const file = join(home, 'task.json');
  writeFileSync(file, JSON.stringify(task), { mode: 0o600 });
  const inside = join(import.meta.dirname, 'image', 'inside.mjs');
  return await alone([node24, inside, file], { signal });
}

async function tidy(folder) {
  removeCgroups(basename(folder));
  await discard(folder);
}
