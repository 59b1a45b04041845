// Programs that the local stack needs: installed with apt when we may, else named with the command that installs them.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { isClone } from './paths.mjs';
import { Fault, run, succeeds } from './process.mjs';

const onPath = (program) =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));

let java;
/** The version of the Java on the path, such as 17.0.15. */
export async function javaVersion() {
  if (!java && onPath('java')) {
    const said = await run('sh', ['-c', 'java -version 2>&1'], { capture: true }).catch(() => '');
    java = /version "([^"]+)"/.exec(said)?.[1];
  }
  return java;
}
const isNewEnough = (version) => Number.parseInt(version ?? '0', 10) >= 17;

const programs = {
  'redis-server': { found: () => onPath('redis-server'), apt: ['redis-server'], brew: 'redis' },
  java: {
    found: async () => isNewEnough(await javaVersion()),
    apt: ['openjdk-17-jre-headless', 'openjdk-21-jre-headless'],
    brew: 'openjdk@17',
  },
  faketime: { found: () => onPath('faketime'), apt: ['faketime'], brew: 'libfaketime' },
  haproxy: { found: () => onPath('haproxy') || existsSync('/usr/sbin/haproxy'), apt: ['haproxy'], brew: 'haproxy' },
  go: { found: () => onPath('go'), apt: ['golang-go'], brew: 'go' },
  openssl: { found: () => onPath('openssl'), apt: ['openssl'], brew: 'openssl' },
  kcat: { found: () => onPath('kcat'), apt: ['kcat'], brew: 'kcat' },
  chromium: { found: () => onPath('chromium'), apt: ['chromium'], brew: 'chromium' },
  podman: { found: () => onPath('podman'), apt: ['podman'], brew: 'podman' },
  runc: { found: () => onPath('runc') || existsSync('/usr/sbin/runc'), apt: ['runc'], brew: 'runc' },
  mmdebstrap: { found: () => onPath('mmdebstrap'), apt: ['mmdebstrap'], brew: 'mmdebstrap' },
  containerd: { found: () => onPath('containerd'), apt: ['containerd'], brew: 'containerd' },
  netavark: {
    found: () => existsSync('/usr/lib/podman/netavark') && existsSync('/usr/lib/podman/aardvark-dns'),
    apt: ['aardvark-dns'],
    brew: 'podman',
  },
  catatonit: { found: () => existsSync('/usr/libexec/podman/catatonit'), apt: ['catatonit'], brew: 'podman' },
  venv: { found: () => succeeds('python3', ['-m', 'ensurepip', '--version']), apt: ['python3-venv'], brew: 'python3' },
  cni: { found: () => existsSync('/usr/lib/cni/bridge'), apt: ['containernetworking-plugins'], brew: 'cni-plugins' },
  iptables: {
    found: () => onPath('iptables') || existsSync('/usr/sbin/iptables'),
    apt: ['iptables'],
    brew: 'iptables',
  },
  ipset: { found: () => onPath('ipset') || existsSync('/usr/sbin/ipset'), apt: ['ipset'], brew: 'ipset' },
  conntrack: {
    found: () => onPath('conntrack') || existsSync('/usr/sbin/conntrack'),
    apt: ['conntrack'],
    brew: 'conntrack-tools',
  },
  postgres: {
    found: () => existsSync('/usr/lib/postgresql'),
    apt: ['postgresql'],
    brew: 'postgresql',
  },
  mvn: { found: () => onPath('mvn'), apt: ['maven'], brew: 'maven' },
};

/** Makes sure that these programs are there, all of them at once. */
export async function need(names, signal) {
  const missing = [];
  for (const name of names) if (!(await programs[name].found())) missing.push(name);
  if (missing.length === 0) return;
  const said = missing.map((name) => (name === 'java' ? 'java (17 or newer)' : name)).join(', ');
  if (!isClone || process.getuid?.() !== 0 || !onPath('apt-get'))
    throw new Fault(`missing: ${said}\n${advice(missing)}`);

  console.log(`installing ${said} with apt-get`);
  const apt = (...args) =>
    run('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=180', ...args], {
      signal,
      capture: true,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  await apt('update');
  const packages = [];
  for (const name of missing) packages.push(await firstKnown(programs[name].apt));
  await apt('install', '-y', '--no-install-recommends', ...packages);
  for (const name of missing) {
    if (!(await programs[name].found()))
      throw new Fault(`${name} is still missing after apt-get install ${packages.join(' ')}`);
  }
}

async function firstKnown(packages) {
  for (const name of packages) if (await succeeds('apt-cache', ['show', name], 20_000)) return name;
  return packages[0];
}

function advice(missing) {
  const otherwise = `or ${isClone ? 'start Docker, or ' : ''}set KAFKA_BROKERS and REDIS_URL`;
  if (process.platform === 'darwin')
    return `install with: brew install ${missing.map((name) => programs[name].brew).join(' ')}\n${otherwise}`;
  const packages = missing.map((name) => programs[name].apt[0]).join(' ');
  return `install with: sudo apt-get update && sudo apt-get install -y ${packages}\n${otherwise}`;
}
