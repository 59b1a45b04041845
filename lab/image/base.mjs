// The base image: the official one where a registry answers, else a stand-in of Debian's packages and the npm packages node and npm.
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { cache, node24, root } from '../../scripts/lib/paths.mjs';
import { Fault, run } from '../../scripts/lib/process.mjs';

export const baseFolder = join(cache, 'image-base');
const STAND_IN = 'localhost/node-stand-in';
const NPM = '11.19.1';
const SOURCES = '/etc/apt/sources.list.d';
/** The official image leaves out the same. */
const EXCLUDED = ['doc', 'man', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`);

/** Loads the base image into podman's store; its name there, and in words what it is. */
export async function base(podman, home) {
  const named = /^ARG NODE_IMAGE=(\S+)$/m.exec(readFileSync(join(root, 'Dockerfile'), 'utf8'))[1];
  const [, version, suite] = /^node:([\d.]+)-(\w+)-slim@/.exec(named);
  // A short name: the registries of this machine say where it is.
  const official = named.replace(/:[^@]+@/, '@');
  const answers = await podman.call(['manifest', 'inspect', official], { timeoutMs: 20_000 }).then(
    () => true,
    () => false,
  );
  if (answers) {
    await podman.call(['pull', '--quiet', official], { timeoutMs: 600_000 });
    return { name: official, said: `the official image ${named}` };
  }
  const archive = join(baseFolder, `node-${version}-${suite}.tar`);
  const isKept = existsSync(archive);
  if (isKept) await podman.call(['load', '--quiet', '--input', archive]);
  else await make(podman, home, { version, suite, archive });
  const origin = isKept ? 'from the cache' : 'made now';
  return {
    name: STAND_IN,
    said: `A STAND-IN of ${named.split('@')[0]}, ${origin}: no registry of images answers. It is Debian ${suite} and the npm packages node@${version} and npm@${NPM}, in ${archive}`,
  };
}

async function make(podman, home, { version, suite, archive }) {
  const folder = join(home, 'base');
  mkdirSync(folder, { recursive: true });
  const own = await run(node24, ['--version'], { capture: true });
  if (own.trim() !== `v${version}`)
    throw new Fault(`the Dockerfile names Node ${version}, package-lock.json ${own.trim()}`);
  // Debian's own way to one /usr needs the whole of Perl.
  const merged = ['--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr', '--include=usr-is-merged,libstdc++6'];
  const rootfs = ['--variant=minbase', ...merged, '--format=tar', '--aptopt=Acquire::Languages "none"'];
  // This machine's sources of that Debian, so that its mirror is used; without them mmdebstrap's own.
  const sources = readdirSync(SOURCES)
    .filter((name) => name.endsWith('.sources'))
    .map((name) => join(SOURCES, name))
    .filter((path) => new RegExp(`^Suites: ${suite}\\b`, 'm').test(readFileSync(path, 'utf8')));
  await run('mmdebstrap', [...rootfs, ...EXCLUDED, suite, join(folder, 'rootfs.tar'), ...sources], {
    capture: true,
    env: { ...process.env, TMPDIR: folder },
  });
  const npm = ['install', '--prefix', folder, `npm@${NPM}`, '--ignore-scripts', '--no-audit', '--no-fund'];
  await run('npm', npm, { capture: true });
  cpSync(join(folder, 'node_modules', 'npm'), join(folder, 'npm'), { recursive: true });
  copyFileSync(node24, join(folder, 'node'));
  writeFileSync(
    join(folder, 'Dockerfile'),
    `FROM scratch
ADD rootfs.tar /
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN cd /usr/local/bin && for name in npm npx; do ln -s ../lib/node_modules/npm/bin/$name-cli.js $name; done
CMD ["node"]
`,
  );
  await podman.build(['--quiet', '--tag', STAND_IN, folder]);
  mkdirSync(baseFolder, { recursive: true });
  const fresh = join(folder, 'saved.tar');
  await podman.call(['save', '--quiet', '--output', fresh, STAND_IN]);
  cpSync(fresh, `${archive}.part`);
  renameSync(`${archive}.part`, archive);
  rmSync(folder, { recursive: true });
}
