// npm run test:kubernetes [-- --only part of a group's name]…: the chart in a real cluster of one node, made of Go modules and Debian's
// packages in namespaces of their own. Linux with cgroup v1, and root. Nothing stays but what was built, in the cache.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { definitionFiles, helmPath } from '../scripts/chart/tools.mjs';
import { images as imagesOf } from './images/images.mjs';
import { versionBefore } from './kubernetes/before.mjs';
import { authority as authorityIn } from './kubernetes/certificates.mjs';
import { startCluster } from './kubernetes/cluster.mjs';
import { coredns, metricsApi } from './kubernetes/manifests.mjs';
import { development } from './kubernetes/phases/development.mjs';
import { production } from './kubernetes/phases/production.mjs';
import { valueFiles } from './kubernetes/phases/value-files.mjs';
import { programs as programsOf } from './kubernetes/programs.mjs';
import { startKeda } from './kubernetes/keda.mjs';
import { PARTNER } from './kubernetes/settings.mjs';
import { startStores } from './kubernetes/stores/start.mjs';
import { install } from '../scripts/lib/build.mjs';
import { needs, prepare } from '../scripts/lib/kafka.mjs';
import { need } from '../scripts/lib/packages.mjs';
import { privateHome, sweep } from '../scripts/lib/private-home.mjs';
import { Fault, script } from '../scripts/lib/process.mjs';
import { tidy } from './lib/tidy.mjs';

const NEEDED = ['go', 'containerd', 'runc', 'podman', 'mmdebstrap', 'iptables', 'ipset', 'conntrack', 'cni', 'openssl'];
const home = privateHome('kubernetes');
const PHASES = [development, production, valueFiles];
const wanted = process.argv.flatMap((word, at, all) => (all[at - 1] === '--only' ? [word] : []));
const isWanted = (name) => wanted.length === 0 || wanted.some((part) => name.includes(part));

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
    const before = await versionBefore(home, signal);
    const since = Date.now();
    const cluster = await startCluster(home, { programs, helm, signal });
    console.log(`the node is ready after ${Math.round((Date.now() - since) / 1000)} s`);
    try {
      for (const { archive } of [...Object.values(images), before.image]) await cluster.load(archive);
      await cluster.apply('cluster', [...coredns(images.coredns.reference), ...metricsApi()]);
      await cluster.applyFiles(await definitionFiles(home, signal));
      const authority = await authorityIn(join(home, 'authority'), signal);
      const base = { cluster, images, before, authority };
      base.partner = await authority.issue('partner', [PARTNER.host]);
      base.stores = once(() => startStores(base));
      base.keda = once(() => startKeda(base));
      return await judge(base, signal);
    } finally {
      await cluster.stop();
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function judge(base, signal) {
  const failed = [];
  let passed = 0;
  const aborted = new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason)));
  /** Whether it did what it should; what it found is printed. */
  const isDone = async (name, task) => {
    const answer = await Promise.race([task(), aborted]).catch((error) => error);
    signal.throwIfAborted();
    const isFault = answer instanceof Error;
    if (isFault) failed.push(name);
    else passed += 1;
    console.log(`${isFault ? 'FAILED' : 'ok    '}  ${name}: ${isFault ? answer.message : answer}`);
    return !isFault;
  };
  for (const part of PHASES) {
    const { name: phase, groups, always } = part;
    const chosen = Object.keys(groups).filter((name) => always.includes(name) || isWanted(name));
    if (!chosen.some(isWanted)) continue;
    let context;
    const since = Date.now();
    const isBegun = await isDone(phase, async () => {
      context = await part.prepare(base);
      return `ready to begin after ${Math.round((Date.now() - since) / 1000)} s`;
    });
    if (!isBegun) continue;
    for (const name of chosen) if (!(await isDone(name, () => groups[name](context))) && name === always[0]) break;
  }
  console.log(failed.length > 0 ? `failed: ${failed.join(', ')}` : `all ${passed} steps passed`);
  return failed.length > 0 ? 1 : 0;
}

/** A task whose first call does it, and whose further calls have its answer. */
function once(task) {
  let answer;
  return () => (answer ??= task());
}
