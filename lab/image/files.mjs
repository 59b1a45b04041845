// The files of the image, read from outside, and who may write them.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../scripts/lib/process.mjs';

const FOLDERS = ['bin', 'sbin', 'usr/bin', 'usr/sbin', 'usr/local/bin', 'usr/local/sbin'];
const UNWANTED = [
  'npm',
  'npx',
  'corepack',
  'yarn',
  'yarnpkg',
  'pnpm',
  'apt',
  'apt-get',
  'perl',
  'mount',
  'curl',
  'wget',
];
/** Files that a build is given from outside and must not leave. */
const BUILD_ONLY = ['usr/local/etc/npmrc', 'root/.npmrc', 'app/.npmrc', 'root/.npm'];
const COUNTED = 'find / -xdev -writable ! -type l 2>/dev/null; true';

export const fileChecks = {
  async 'no package manager, no setuid'({ files }) {
    const found = FOLDERS.flatMap((folder) => UNWANTED.map((name) => join(folder, name))).filter((path) =>
      existsSync(join(files, path)),
    );
    found.push(
      ...['usr/local/lib/node_modules', 'opt/yarn', ...BUILD_ONLY].filter((path) => sizeOf(join(files, path)) > 0),
    );
    const all = walk(files);
    found.push(...all.filter(({ mode, isFile }) => isFile && mode & 0o6000).map(({ path }) => path));
    if (found.length > 0) throw new Fault(`there is ${found.join(', ')}`);
    return `${UNWANTED.length} programs absent, ${all.length} files and folders looked at`;
  },
  async 'nothing writable but /tmp, without a read-only root too'({ podman, image }) {
    const told = await podman.open(['--entrypoint=/bin/sh', image, '-c', COUNTED]);
    if (!/^\/tmp$/m.test(told)) throw new Fault(`not even /tmp was found: ${told.slice(0, 500)}`);
    const found = told.split('\n').filter((path) => path && !/^\/(?:dev|proc|sys|tmp)(?:\/|$)/.test(path));
    if (found.length > 0) throw new Fault(`${found.length}: ${found.slice(0, 10).join(' ')}`);
    return '0 others';
  },
  async 'bill of materials equals node_modules'({ files }) {
    const { components } = JSON.parse(readFileSync(join(files, 'app', 'sbom.cdx.json'), 'utf8'));
    const listed = new Set(
      components.map(({ group, name, version }) => `${group ? `${group}/` : ''}${name}@${version}`),
    );
    const found = new Set(packagesIn(join(files, 'app', 'node_modules')));
    const wrong = [...listed.symmetricDifference(found)];
    if (found.size < 50 || wrong.length > 0) throw new Fault(`${found.size} packages, not in both: ${wrong.join(' ')}`);
    return `${found.size} packages in both`;
  },
  async 'licence texts are left'({ files }) {
    const modules = walk(join(files, 'app', 'node_modules'));
    const licences = modules.filter(({ path }) => /licen[cs]e/i.test(path.split('/').at(-1)));
    if (licences.length < 100) throw new Fault(`only ${licences.length}`);
    const idle = modules.filter(({ path, isFile }) => isFile && /\.(?:map|ts)$/.test(path));
    if (idle.length > 0) throw new Fault(`${idle.length} files of no use, such as ${idle[0].path}`);
    return licences.length;
  },
};

const sizeOf = (path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

function walk(folder) {
  const found = [];
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(folder, entry.name);
    found.push({ path, mode: statSync(path).mode, isFile: entry.isFile() });
    if (entry.isDirectory()) found.push(...walk(path));
  }
  return found;
}

/** name@version of each folder that node_modules, or one below it, has. */
function packagesIn(modules) {
  const found = [];
  const entries = existsSync(modules) ? readdirSync(modules).filter((name) => !name.startsWith('.')) : [];
  for (const entry of entries) {
    const scoped = entry.startsWith('@') ? readdirSync(join(modules, entry)) : [''];
    for (const folder of scoped.map((name) => join(modules, entry, name))) {
      const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      found.push(`${name}@${version}`, ...packagesIn(join(folder, 'node_modules')));
    }
  }
  return found;
}
