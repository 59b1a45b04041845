// npm run test:compose: docker-compose.yml run by podman and podman-compose, with the commands of docs/integrate against it, and its data
// over `down` and `up`. Linux and root. Nothing stays but the images and podman-compose, in the cache.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { images as imagesOf } from './images/images.mjs';
import { alone } from './lib/alone.mjs';
import { install } from '../scripts/lib/build.mjs';
import { needs, prepare } from '../scripts/lib/kafka.mjs';
import { withLock } from '../scripts/lib/lock.mjs';
import { need } from '../scripts/lib/packages.mjs';
import { cache, node24 } from '../scripts/lib/paths.mjs';
import { privateHome, sweep } from '../scripts/lib/private-home.mjs';
import { Fault, run, script } from '../scripts/lib/process.mjs';
import { tidy } from './lib/tidy.mjs';

const PODMAN_COMPOSE = '1.5.0';
const home = privateHome('compose');
const python = join(cache, `podman-compose-${PODMAN_COMPOSE}`);

await script(async (signal) => {
  if (process.platform !== 'linux' || process.getuid() !== 0)
    throw new Fault('npm run test:compose needs Linux and root');
  await install(signal);
  await need(['podman', 'runc', 'netavark', 'catatonit', 'mmdebstrap', 'iptables', 'venv', ...needs()], signal);
  await sweep('compose', tidy);
  await prepare(signal);
  await withLock(join(cache, 'podman-compose.lock'), signal, () => podmanCompose(signal));
  mkdirSync(home, { recursive: true });
  try {
    const images = await imagesOf(['kafka', 'valkey', 'partner-relay'], { signal });
    const task = { home, images, compose: join(python, 'bin') };
    const file = join(home, 'task.json');
    writeFileSync(file, JSON.stringify(task), { mode: 0o600 });
    const inside = join(import.meta.dirname, 'compose', 'inside.mjs');
    return await alone([node24, inside, file], { network: true, signal });
  } finally {
    await tidy(home);
  }
});

async function podmanCompose(signal) {
  if (existsSync(python)) return;
  try {
    await run('python3', ['-m', 'venv', python], { signal, capture: true });
    const pip = join(python, 'bin', 'pip');
    await run(pip, ['install', '-q', `podman-compose==${PODMAN_COMPOSE}`], { signal, capture: true });
  } catch (error) {
    rmSync(python, { recursive: true, force: true });
    throw error;
  }
}
