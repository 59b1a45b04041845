// npm run test:kubernetes [-- --only part of a group's name]…: the chart in a real cluster of one node, made of Go modules and Debian's
// packages in namespaces of their own. Linux with cgroup v1, and root. Nothing stays but what was built, in the cache.
import { mkdirSync, rmSync } from 'node:fs';
import { helmPath } from './chart/tools.mjs';
import { coredns, keysSecret, restrictedNamespace } from './kubernetes/manifests.mjs';
import { startCluster } from './kubernetes/cluster.mjs';
import { changeGroups } from './kubernetes/groups/changes.mjs';
import { disruptionGroups } from './kubernetes/groups/disruptions.mjs';
import { installGroups, uninstallGroups } from './kubernetes/groups/install.mjs';
import { policyGroups } from './kubernetes/groups/policies.mjs';
import { resourceGroups } from './kubernetes/groups/resources.mjs';
import { images as imagesOf } from './images/images.mjs';
import { programs as programsOf } from './kubernetes/programs.mjs';
import { developmentValues, NAMESPACE, release } from './kubernetes/release.mjs';
import { tidy } from './lib/tidy.mjs';
import { install } from './lib/build.mjs';
import { needs, prepare } from './lib/kafka.mjs';
import { need } from './lib/packages.mjs';
import { privateHome, sweep } from './lib/private-home.mjs';
import { Fault, script } from './lib/process.mjs';

const NEEDED = ['go', 'containerd', 'runc', 'podman', 'mmdebstrap', 'iptables', 'ipset', 'conntrack', 'cni'];
const home = privateHome('kubernetes');
/** Always run: without the first there is nothing to try. */
const [INSTALL] = Object.keys(installGroups);
const GROUPS = {
  ...installGroups,
  ...policyGroups,
  ...resourceGroups,
  ...changeGroups,
  ...disruptionGroups,
  ...uninstallGroups,
};
const wanted = process.argv.flatMap((word, at, all) => (all[at - 1] === '--only' ? [word] : []));
const isWanted = (name) => wanted.length === 0 || name === INSTALL || wanted.some((part) => name.includes(part));

await script(async (signal) => {
  if (process.platform !== 'linux' || process.getuid() !== 0)
    throw new Fault('npm run test:kubernetes needs Linux and root');
  await install(signal);
  await need([...NEEDED, ...needs()], signal);
  await sweep('kubernetes', tidy);
  return tried(signal);
});

async function tried(signal) {
  const programs = await programsOf(signal);
  const helm = await helmPath(signal);
  await prepare(signal);
  mkdirSync(home, { recursive: true });
  try {
    const images = await imagesOf(['pause', 'coredns', 'kafka', 'valkey', 'partner-relay'], { programs, signal });
    const since = Date.now();
    const cluster = await startCluster(home, { programs, helm, signal });
    console.log(`the node is ready after ${Math.round((Date.now() - since) / 1000)} s`);
    try {
      const { keys, manifest } = keysSecret(NAMESPACE, 'relay-keys');
      for (const { archive } of Object.values(images)) await cluster.load(archive);
      await cluster.apply('cluster', [...coredns(images.coredns.reference), restrictedNamespace(NAMESPACE), manifest]);
      const relay = release(cluster, developmentValues(images));
      return await judge({ cluster, images, relay, keys }, signal);
    } finally {
      await cluster.stop();
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function judge(context, signal) {
  const failed = [];
  const aborted = new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason)));
  const chosen = Object.entries(GROUPS).filter(([name]) => isWanted(name));
  for (const [name, group] of chosen) {
    const answer = await Promise.race([group(context), aborted]).catch((error) => error);
    signal.throwIfAborted();
    const isFault = answer instanceof Error;
    if (isFault) failed.push(name);
    console.log(`${isFault ? 'FAILED' : 'ok    '}  ${name}: ${isFault ? answer.message : answer}`);
    if (isFault && name === INSTALL) break;
  }
  console.log(failed.length > 0 ? `failed: ${failed.join(', ')}` : `all ${chosen.length} groups passed`);
  return failed.length > 0 ? 1 : 0;
}
