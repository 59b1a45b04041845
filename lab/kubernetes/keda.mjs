// KEDA's operator, as a process of the node: it takes ScaledObjects, tries their triggers, and makes the autoscalers. The server of its
// metrics is not here, so nothing is scaled by it.
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Fault, until } from '../../scripts/lib/process.mjs';
import { DNS } from './settings.mjs';

const NAMESPACE = 'keda';
const START_MS = 60_000;
const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const PROBE = 'http://127.0.0.1:18081/readyz';

/** Resolves with what it printed so far, when it is ready. */
export async function startKeda({ cluster, authority }) {
  const folder = join(cluster.home, 'keda');
  mkdirSync(folder);
  await cluster.apply('keda', [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }]);
  // Gives the process what a pod has: the name servers of pods, and a file that names its namespace.
  const names = join(folder, 'resolv.conf');
  writeFileSync(names, `nameserver ${DNS}\n`);
  const place = `mount --bind ${names} /etc/resolv.conf && mkdir -p ${ACCOUNT} && printf ${NAMESPACE} > ${ACCOUNT}/namespace`;
  await cluster.inside('sh', ['-c', place]);
  const { key, certificate } = await authority.issue('keda', [`keda-operator.${NAMESPACE}.svc`]);
  const files = { 'ca.crt': authority.ca, 'tls.crt': certificate, 'tls.key': key };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const log = join(folder, 'log');
  const output = openSync(log, 'a');
  const settings = [
    `--kubeconfig=${join(cluster.home, 'conf', 'admin.conf')}`,
    `--cert-dir=${folder}`,
    `--ca-dir=${join(folder, 'authorities')}`,
    '--metrics-bind-address=127.0.0.1:18080',
    '--health-probe-bind-address=127.0.0.1:18081',
    '--metrics-service-bind-address=127.0.0.1:19666',
  ];
  cluster.spawnInside(
    'env',
    [`POD_NAMESPACE=${NAMESPACE}`, 'WATCH_NAMESPACE=', 'keda', ...settings],
    ['ignore', output, output],
  );
  const isReady = async () =>
    (await cluster.inside('curl', ['-sf', PROBE]).then(
      () => true,
      () => false,
    )) || (await delay(1_000, false));
  if (!(await until(isReady, START_MS))) throw new Fault(readFileSync(log, 'utf8').slice(-2000));
  return () => readFileSync(log, 'utf8');
}
