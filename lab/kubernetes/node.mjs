// Inside the node's namespaces: mounts, a network, then every server of a cluster of one node. Ends when one of them does.
import { execFileSync, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { until } from '../../scripts/lib/process.mjs';
import { authority } from './certificates.mjs';
import { ADDRESS, files, NODE, PARTNER, servers } from './settings.mjs';

const { home, programs } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const [conf, data, keys, log] = ['conf', 'data', 'keys', 'log'].map((name) => join(home, name));
const PATIENCE_MS = 120_000;
const CGROUPS = '/sys/fs/cgroup';
const SHARES = '20480';
/** Folders that the parts write to, which must not be those of this machine. */
const OWN = ['lib/kubelet', 'lib/containerd', 'lib/cni', 'log/pods', 'log/containers'].map((name) => `/var/${name}`);
/** kubelet and kube-proxy set these for the whole machine: they find what they want. */
const SYSTEM = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
};
process.env.PATH = `${programs}:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin`;
for (const name of ['SSL_CERT_FILE', 'SSL_CERT_DIR']) delete process.env[name];

const sh = (command, ...args) => execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });

for (const folder of [conf, data, keys, log]) mkdirSync(folder, { recursive: true });
mounts();
network();
for (const [name, text] of Object.entries(files(conf, `/${basename(home)}`))) write(join(conf, name), text);
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
write(join(keys, 'accounts.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
await (await authority(join(keys, 'front'))).issue('front', [NODE]);
groups();
for (const [name, args] of Object.entries(servers({ conf, data, keys }))) {
  start(name, args);
  if (name === 'kube-apiserver') await ready(name, ['get', '--raw', '/readyz']);
  // kube-router looks for its own node, once.
  if (name === 'kube-proxy') await ready('kubelet', ['get', 'node', NODE]);
}
write(join(home, 'up'), '');

function mounts() {
  sh('mount', '-t', 'tmpfs', 'tmpfs', '/run');
  mkdirSync('/run/lock');
  for (const folder of OWN) {
    // A mount needs a place to be; who tidies up takes away those that were not there.
    const made = mkdirSync(folder, { recursive: true });
    if (made) appendFileSync(join(home, 'made'), `${made}\n`);
    mkdirSync(join(data, folder), { recursive: true });
    sh('mount', '--bind', join(data, folder), folder);
  }
  sh('mount', '--make-shared', '/var/lib/kubelet');
  sh('mount', '--make-rshared', '/run');
  for (const [name, value] of Object.entries(SYSTEM)) {
    write(join(data, 'sys', name), `${value}\n`);
    sh('mount', '--bind', join(data, 'sys', name), `/proc/sys/${name}`);
  }
}

function network() {
  sh('hostname', NODE);
  const ip = (line) => sh('ip', ...line.split(' '));
  ip('link set lo up');
  ip('link add node0 type veth peer name node1');
  ip('link set node1 up');
  ip('link set node0 up');
  ip(`addr add ${ADDRESS}/24 dev node0`);
  ip(`addr add ${PARTNER.address}/32 dev lo`);
  ip('route add default dev node0');
  for (const name of ['net/ipv4/ip_forward', 'net/bridge/bridge-nf-call-iptables'])
    writeFileSync(`/proc/sys/${name}`, '1');
}

/** The cgroup that all pods are in, in the tree of each controller. */
function groups() {
  for (const { name } of readdirSync(CGROUPS, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    const tree = join(CGROUPS, name);
    if (!existsSync(join(tree, 'cgroup.procs')) || statSync(tree).dev === statSync(CGROUPS).dev) continue;
    const own = join(tree, basename(home));
    mkdirSync(own, { recursive: true });
    // With the default, all pods together weigh as one other process of this machine.
    if (existsSync(join(own, 'cpu.shares'))) writeFileSync(join(own, 'cpu.shares'), SHARES);
    if (!existsSync(join(tree, 'cpuset.cpus'))) continue;
    for (const file of ['cpuset.cpus', 'cpuset.mems']) writeFileSync(join(own, file), readFileSync(join(tree, file)));
  }
}

function start(name, args) {
  const out = openSync(join(log, `${name}.log`), 'a');
  const env = { ...process.env, NODE_NAME: NODE };
  const server = spawn(name, args, { stdio: ['ignore', out, out], env });
  server.on('error', (error) => fail(error.message));
  server.on('exit', (code, by) => fail(`${name} ended: ${by ?? code}`));
}

async function ready(name, args) {
  const asked = ['--kubeconfig', join(conf, 'admin.conf'), ...args];
  const answers = () => {
    try {
      sh('kubectl', ...asked);
      return true;
    } catch {
      return false;
    }
  };
  if (!(await until(answers, PATIENCE_MS))) fail(`${name} is not ready`);
}

function fail(reason) {
  write(join(home, 'fault'), reason);
  console.error(reason);
  process.exit(1);
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
