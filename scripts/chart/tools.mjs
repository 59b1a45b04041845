// The tools of the chart's check, from the Go proxy, PyPI and Debian, into the shared cache; each fetched once per machine.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { withLock } from '../lib/lock.mjs';
import { cache, root } from '../lib/paths.mjs';
import { Fault, run } from '../lib/process.mjs';

const HELM = 'helm.sh/helm/v3/cmd/helm@v3.22.0';
const HELM_UNITTEST = { module: 'github.com/helm-unittest/helm-unittest', version: 'v1.1.2' };
/** The files in which each project keeps the definitions of the resources that the chart makes. */
const DEFINITIONS = {
  'sigs.k8s.io/gateway-api@v1.4.0': ['config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
  'github.com/kedacore/keda/v2@v2.21.0': [
    'config/crd/bases/keda.sh_scaledobjects.yaml',
    'config/crd/bases/keda.sh_triggerauthentications.yaml',
    'config/crd/bases/keda.sh_clustertriggerauthentications.yaml',
    'config/crd/bases/keda.sh_scaledjobs.yaml',
    'config/crd/bases/eventing.keda.sh_cloudeventsources.yaml',
    'config/crd/bases/eventing.keda.sh_clustercloudeventsources.yaml',
  ],
  'github.com/prometheus-operator/prometheus-operator@v0.85.0': [
    'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml',
    'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
  ],
};
const KUBERNETES_VALIDATE = '1.37.0';
/** The Kubernetes versions that the manifests are validated for. */
export const KUBERNETES = ['1.37.0', '1.34.0'];

const goBin = join(cache, 'go', 'bin');
const helm = join(goBin, 'helm');
const unittest = join(goBin, `helm-unittest-${HELM_UNITTEST.version}`);
const venv = join(cache, `chart-python-${KUBERNETES_VALIDATE}`);
const definitions = join(cache, 'chart-definitions-2');
const prometheus = join(cache, 'prometheus');

/** Path of helm. */
export async function helmPath(signal) {
  mkdirSync(goBin, { recursive: true });
  await withLock(join(cache, 'helm.lock'), signal, async () => {
    if (existsSync(helm)) return;
    console.log(`building ${HELM} (once per machine, some minutes)`);
    await run('go', ['install', HELM], { env: { ...process.env, GOBIN: goBin }, signal, capture: true });
  });
  return helm;
}

/** Paths of helm, helm-unittest, promtool and python, and of the folder with schemas of other projects. */
export async function tools(signal) {
  await helmPath(signal);
  await withLock(join(cache, 'chart.lock'), signal, async () => {
    if (!existsSync(unittest)) await buildUnittest(signal);
    await once(venv, async () => {
      await run('python3', ['-m', 'venv', venv], { signal, capture: true });
      const pip = join(venv, 'bin', 'pip');
      await run(pip, ['install', '-q', `kubernetes-validate==${KUBERNETES_VALIDATE}`], { signal, capture: true });
    });
    await scratch(definitions, (fresh) => fetchDefinitions(fresh, signal));
    if (!onPath('promtool')) await scratch(prometheus, (fresh) => fetchPrometheus(fresh, signal));
  });
  return {
    helm,
    unittest,
    promtool: onPath('promtool') ?? join(prometheus, 'usr', 'bin', 'promtool'),
    python: join(venv, 'bin', 'python'),
    definitions,
  };
}

/** Its go.mod replaces a module, which `go install` refuses: it is built where Go has put its source. */
async function buildUnittest(signal) {
  const { module, version } = HELM_UNITTEST;
  console.log(`building ${module}@${version} (once per machine, some minutes)`);
  const cwd = await download(`${module}@${version}`, goBin, signal);
  await run('go', ['build', '-o', unittest, './cmd/helm-unittest'], { cwd, signal, capture: true });
}

/** Files of resource definitions, as their projects publish them. @param folder any that is in no module */
export async function definitionFiles(folder, signal) {
  const files = [];
  for (const [module, paths] of Object.entries(DEFINITIONS)) {
    const source = await download(module, folder, signal);
    files.push(...paths.map((path) => join(source, path)));
  }
  return files;
}

async function fetchDefinitions(folder, signal) {
  const files = await definitionFiles(folder, signal);
  await run(join(venv, 'bin', 'python'), [yamlTool, 'schemas', folder, ...files], { signal, capture: true });
}

/** The folder with the source of a Go module; `cwd` is any folder that is in no module. */
async function download(module, cwd, signal) {
  const told = await run('go', ['mod', 'download', '-json', module], { cwd, signal, capture: true });
  return JSON.parse(told).Dir;
}

/** Unpacked beside the system, because installing the package starts a server. */
async function fetchPrometheus(folder, signal) {
  if (!onPath('apt-get')) throw new Fault('missing: promtool, which comes with Prometheus');
  await run('apt-get', ['download', '-q', 'prometheus'], { cwd: folder, signal, capture: true });
  const [name] = readdirSync(folder);
  await run('dpkg-deb', ['-x', name, '.'], { cwd: folder, signal, capture: true });
}

export const yamlTool = join(root, 'scripts', 'chart', 'manifests.py');

const onPath = (program) =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((path) => existsSync(path));

/** A Python environment knows its own path, so it is made in its place and taken away again when that fails. */
async function once(folder, make) {
  if (existsSync(folder)) return;
  try {
    await make();
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Appears under its name only when complete. */
async function scratch(folder, make) {
  if (existsSync(folder)) return;
  const fresh = mkdtempSync(`${folder}-`);
  try {
    await make(fresh);
    renameSync(fresh, folder);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}
