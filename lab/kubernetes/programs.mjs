// The programs of the cluster: built from Go modules into the shared cache, once per machine; the rest are Debian's.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from '../../scripts/lib/lock.mjs';
import { cache } from '../../scripts/lib/paths.mjs';
import { run } from '../../scripts/lib/process.mjs';

const modules = join(import.meta.dirname, 'programs');
const KUBERNETES = 'v1.34.4';
const kubernetes = (name) => [name, 'kube', `k8s.io/kubernetes/cmd/${name}`];
/** Program, the folder with its go.mod, its package. */
const PROGRAMS = [
  ...['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy', 'kubelet', 'kubectl'].map(
    kubernetes,
  ),
  ['etcd', 'kube', 'go.etcd.io/etcd/server/v3'],
  ['coredns', 'coredns', '.'],
  ['kube-router', 'router', 'github.com/cloudnativelabs/kube-router/v2/cmd/kube-router'],
  ['metrics-server', 'metrics', 'sigs.k8s.io/metrics-server/cmd/metrics-server'],
  ['keda', 'keda', 'github.com/kedacore/keda/v2/cmd/operator'],
  ['pause', 'pause', '.'],
];

/** The folder with all of them. The first time takes some fifteen minutes of two cores, 6 GB of Go's own caches. */
export async function programs(signal) {
  const folder = join(cache, 'kubernetes', versionOf(modules));
  mkdirSync(folder, { recursive: true });
  await withLock(join(cache, 'kubernetes.lock'), signal, async () => {
    for (const [name, module, from] of PROGRAMS) {
      const path = join(folder, name);
      if (existsSync(path)) continue;
      console.log(`building ${name} (once per machine, some minutes)`);
      const flags = ['-trimpath', '-ldflags', `-s -w ${module === 'kube' ? versions() : ''}`];
      await run('go', ['build', ...flags, '-o', `${path}.part`, from], {
        cwd: join(modules, module),
        env: { ...process.env, CGO_ENABLED: '0' },
        signal,
        capture: true,
      });
      renameSync(`${path}.part`, path);
    }
  });
  return folder;
}

/** The digest of everything that the programs are built from. */
function versionOf(folder) {
  const hash = createHash('sha256');
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const path of names.map(({ parentPath, name }) => join(parentPath, name)).toSorted())
    hash.update(readFileSync(path));
  return hash.digest('hex').slice(0, 12);
}

/** Kubernetes compares the versions of its parts, which its own build sets. */
function versions() {
  const [, major, minor] = /^v(\d+)\.(\d+)/.exec(KUBERNETES);
  const facts = { gitVersion: KUBERNETES, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  return ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version']
    .flatMap((at) => Object.entries(facts).map(([name, value]) => `-X ${at}.${name}=${value}`))
    .join(' ');
}
