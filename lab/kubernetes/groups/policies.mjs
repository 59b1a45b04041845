// Tries connections from pods: some must be refused, and others must work.
import { Fault } from '../../../scripts/lib/process.mjs';
import { FULL_NAME } from '../release.mjs';
import { ADDRESS, OPENED_PORT, PARTNER } from '../settings.mjs';
import { restrictedNamespace } from '../manifests.mjs';

const FOREIGN = 'foreign';
/** The Service of a part, from a pod of any namespace. */
const at = (name) => (namespace) => `${FULL_NAME}-${name}.${namespace}.svc.cluster.local`;
const WAIT_MS = 3000;
/** From where; whether it is reached; host and port. */
const TRIED = [
  ['ingress', true, at('kafka'), 9092],
  ['ingress', true, at('valkey'), 6379],
  ['worker', true, at('kafka'), 9092],
  ['worker', true, at('valkey'), 6379],
  ['worker', true, at('ingress'), 80], // an endpoint of development
  ['worker', true, ADDRESS, OPENED_PORT], // what extraEgress opens
  ['worker', true, PARTNER.address, 8443], // an endpoint of a partner
  ['operations', true, at('kafka'), 9092],
  ['operations', true, at('valkey'), 6379],
  [FOREIGN, true, at('ingress'), 80],
  [FOREIGN, true, 'pod of worker', 3200], // metrics, open while metricsFrom is empty
  ['worker', false, at('operations'), 3100],
  ['worker', false, ADDRESS, 6443],
  ['worker', false, '10.96.0.1', 443],
  ['worker', false, '169.254.169.254', 80],
  ['worker', false, 'pod of foreign', 8443],
  ['worker', false, ADDRESS, OPENED_PORT + 1],
  ['worker', false, PARTNER.address, 22],
  ['ingress', false, at('operations'), 3100],
  ['ingress', false, '169.254.169.254', 80],
  ['ingress', false, ADDRESS, 6443],
  ['operations', false, at('ingress'), 80],
  ['operations', false, ADDRESS, OPENED_PORT],
  ['operations', false, PARTNER.address, 8443],
  ['operations', false, '169.254.169.254', 80],
  [FOREIGN, false, at('operations'), 3100],
  [FOREIGN, false, 'pod of worker', 3000],
];
/** Ports that the node listens on, so that no refusal is that of an empty port. */
const LISTENING = [
  [OPENED_PORT, ADDRESS],
  [OPENED_PORT + 1, ADDRESS],
  [8443, PARTNER.address],
  [22, PARTNER.address],
];
/** Listens where a refusal must not come from an empty port, and connects. */
const LISTEN = "require('node:net').createServer().listen(8443)";
const CONNECT = (host, port) =>
  `const s=require('node:net').connect(${port},'${host}').on('connect',()=>end('open')).on('error',e=>end(e.code));setTimeout(()=>end('silent'),${WAIT_MS});function end(what){console.log(what);process.exit()}`;

export const policyGroups = {
  async 'network policies'({ cluster, images, relay }) {
    await cluster.apply('foreign', [restrictedNamespace(FOREIGN), foreignPod(images['partner-relay'].reference)]);
    await cluster.kubectl('-n', FOREIGN, 'wait', '--for=condition=Ready', 'pod/foreign', '--timeout=60s');
    const listener = cluster.spawnInside(process.execPath, [
      '-e',
      `for (const [port, host] of ${JSON.stringify(LISTENING)}) require('node:net').createServer().listen(port, host); process.stdin.resume().on('end', () => process.exit())`,
    ]);
    try {
      const addresses = { foreign: (await cluster.json('-n', FOREIGN, 'get', 'pod', 'foreign')).status.podIP };
      const roles = {};
      for (const role of ['ingress', 'worker', 'operations']) {
        const [pod] = await relay.ready(role);
        roles[role] = pod.metadata.name;
        addresses[role] = pod.status.podIP;
      }
      const wrong = [];
      for (const [from, isOpen, host, port] of TRIED) {
        const address = addressOf(host, relay.namespace, addresses);
        const pod =
          from === FOREIGN ? ['-n', FOREIGN, 'exec', 'foreign'] : ['-n', relay.namespace, 'exec', roles[from]];
        const said = (await cluster.kubectl(...pod, '--', 'node', '-e', CONNECT(address, port))).trim();
        const isRefused = ['ECONNREFUSED', 'EHOSTUNREACH', 'silent'].includes(said);
        if (isOpen ? said !== 'open' : !isRefused) wrong.push(`${from} to ${address}:${port}: ${said}`);
      }
      if (wrong.length > 0) throw new Fault(wrong.join('\n'));
    } finally {
      listener.stdin.end();
      await cluster.kubectl('delete', 'namespace', FOREIGN, '--wait=false');
    }
    const open = TRIED.filter(([, isOpen]) => isOpen).length;
    return `${open} connections that are needed work, ${TRIED.length - open} that are not are refused`;
  },
};

function addressOf(host, namespace, addresses) {
  if (typeof host === 'function') return host(namespace);
  return host.startsWith('pod of ') ? addresses[host.slice(7)] : host;
}

const foreignPod = (image) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'foreign', namespace: FOREIGN },
  spec: {
    securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'foreign',
        image,
        imagePullPolicy: 'Never',
        command: ['node', '-e', LISTEN],
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      },
    ],
  },
});
