// The part of images.mjs that runs in namespaces of its own: builds with podman what is missing, and saves it.
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { script } from '../../scripts/lib/process.mjs';
import { base } from '../image/base.mjs';
import { mounts } from '../image/npm-settings.mjs';
import { podman as podmanIn } from '../image/podman.mjs';

/** Archives of an image that stay: another checkout may be about to load its own. */
const KEPT = 3;

await script(async () => {
  const { home, from, missing, npm } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
  const podman = podmanIn(home);
  const { name: node, said } = await base(podman, home);
  console.log(`base: ${said}`);
  for (const { name, kept, parts, reference, archive } of missing) {
    const since = Date.now();
    const isRelay = name === 'partner-relay';
    const ownParts = isRelay
      ? [...mounts(npm), `--build-arg=NODE_IMAGE=${node}`, from]
      : [`--build-arg=BASE=${node}`, `--file=${parts[0]}`, context(home, name, parts.slice(1))];
    await podman.build(['--format=docker', '--pull=never', `--tag=${reference}`, ...ownParts]);
    rmSync(`${archive}.part`, { force: true }); // podman adds to an archive of another kind
    await podman.call(['save', '--quiet', '--format=docker-archive', '--output', `${archive}.part`, reference]);
    renameSync(`${archive}.part`, archive);
    for (const old of archivesOf(kept, dirname(archive)).slice(KEPT)) rmSync(old);
    console.log(`${reference} in ${Math.round((Date.now() - since) / 1000)} s`);
  }
});

/** The archives of an image, found by their names; the newest is first. */
function archivesOf(name, folder) {
  const isOne = (entry) => entry.startsWith(`${name}-`) && entry.endsWith('.tar');
  return readdirSync(folder)
    .filter(isOne)
    .map((entry) => join(folder, entry))
    .toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
}

/** A folder with what a Dockerfile copies; jars are `libs` there. */
function context(home, name, parts) {
  const folder = join(home, `context-${name}`);
  mkdirSync(folder);
  for (const path of parts) {
    const isJars = basename(path).startsWith('kafka-');
    const isWanted = (from) => !from.endsWith('.jsa');
    cpSync(path, join(folder, isJars ? 'libs' : basename(path)), { recursive: true, filter: isWanted });
  }
  return folder;
}
