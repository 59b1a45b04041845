// The images that pods and compose run, as archives in the shared cache, each built when what it is made of has changed: the relay's
// by its Dockerfile, those of the cluster, and stand-ins of Kafka and Redis, for which no registry is asked.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { withLock } from '../../scripts/lib/lock.mjs';
import { cache, node24, root } from '../../scripts/lib/paths.mjs';
import { privateHome, sweep } from '../../scripts/lib/private-home.mjs';
import { run } from '../../scripts/lib/process.mjs';
import { npmSettings } from '../image/npm-settings.mjs';
import { tidy } from '../lib/tidy.mjs';

const recipes = import.meta.dirname;
const archives = join(cache, 'kubernetes', 'images');
const KAFKA_SCRIPTS = ['kafka.sh', 'broker-api-versions.sh'].map((name) => join(recipes, name));
const dockerfile = (name) => join(recipes, `${name}.Dockerfile`);
/** As in lab/test-image.mjs: podman and all that it starts end with their namespace. */
const ALONE = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
const FIRST = 'mount -t tmpfs none /dev/shm && "$@"; exit $?';

/** Files that the Dockerfile takes and that its image does not depend on. */
const UNSEEN = /\.(live-)?spec\.ts$|scripts\/test-[\w-]+\.mjs$/;

/**
 * By name the tag and the archive of each of these images.
 * @param options.programs folder with those that the cluster's are made of; `from` a checkout of another version, for the relay's
 */
export async function images(names, { programs = '', from = root, signal }) {
  await sweep('images', tidy);
  mkdirSync(archives, { recursive: true });
  const jars = join(cache, 'kafka-4.1.0');
  const plans = {
    pause: [dockerfile('pause'), join(programs, 'pause')],
    coredns: [dockerfile('coredns'), join(programs, 'coredns')],
    kafka: [dockerfile('kafka'), ...KAFKA_SCRIPTS, join(root, 'scripts', 'kafka', 'log4j2.xml'), jars],
    valkey: [dockerfile('valkey')],
    'partner-relay': ['Dockerfile', '.dockerignore', ...copied(from)].map((name) => join(from, name)),
  };
  const found = names.map((name) => {
    const parts = plans[name];
    const tag = name === 'pause' ? '1' : digestOf(parts, from);
    const kept = from === root ? name : `${name}.before`;
    return {
      name,
      parts,
      reference: `docker.io/library/${name}:${tag}`,
      tag,
      kept,
      archive: join(archives, `${kept}-${digestOf(parts, from)}.tar`),
    };
  });
  const byName = Object.fromEntries(found.map((image) => [image.name, image]));
  const missed = () => found.filter(({ archive }) => !existsSync(archive));
  if (missed().length === 0) return byName;
  await withLock(join(cache, 'kubernetes-images.lock'), signal, async () => {
    const missing = missed();
    if (missing.length === 0) return;
    console.log(`building the images ${missing.map(({ name }) => name).join(', ')}`);
    const own = privateHome('images');
    mkdirSync(own, { recursive: true });
    const file = join(own, 'task.json');
    writeFileSync(file, JSON.stringify({ home: own, from, missing, npm: await npmSettings(own, signal) }));
    const build = join(import.meta.dirname, 'build.mjs');
    try {
      await run('setpriv', ['--pdeathsig=KILL', 'unshare', ...ALONE, 'sh', '-c', FIRST, 'sh', node24, build, file], {
        signal,
        detached: true,
        killSignal: 'SIGKILL',
      });
    } finally {
      await tidy(own);
    }
  });
  return byName;
}

/** The paths that the Dockerfile takes from the repository. */
const copied = (from) =>
  [...readFileSync(join(from, 'Dockerfile'), 'utf8').matchAll(/^COPY (?!--from)(?:--\S+ )*(.+) \S+$/gm)].flatMap(
    ([, names]) => names.split(' ').flatMap((name) => matching(name, from)),
  );

/** The paths of a name of the Dockerfile, whose last part may have stars; Node 20 has no `globSync`. */
function matching(name, from) {
  const [, folder, last] = /^(.*\/)?([^/]+)\/?$/.exec(name);
  const pattern = new RegExp(`^${last.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
  return readdirSync(join(from, folder ?? '.'))
    .filter((each) => pattern.test(each))
    .map((each) => join(folder ?? '', each));
}

/** The digest of the names and bytes of files and folders. */
function digestOf(paths, from) {
  const hash = createHash('sha256');
  for (const path of paths.flatMap(filesOf).toSorted()) {
    if (UNSEEN.test(path)) continue;
    hash.update(`${relative(from, path)}\0`).update(readFileSync(path));
  }
  return hash.digest('hex').slice(0, 12);
}

const filesOf = (path) =>
  statSync(path).isFile()
    ? [path]
    : readdirSync(path, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name));
