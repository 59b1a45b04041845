// Installed, tested, reached as the notes say, confined; and at the end uninstalled.
import { setTimeout as delay } from 'node:timers/promises';
import { Fault, until } from '../../../scripts/lib/process.mjs';
import { FULL_NAME, RELEASE } from '../release.mjs';

const seconds = (since) => `${Math.round((Date.now() - since) / 1000)} s`;

/** Objects that a namespace has by itself, and objects that every installation here was given. */
const MADE_BEFORE = new Set([
  'configmap/kube-root-ca.crt',
  'serviceaccount/default',
  'configmap/authority',
  ...['relay-keys', 'kafka-tls', 'kafka-user'].map((name) => `secret/${name}`),
]);

export const installGroups = {
  async 'install, development mode'({ relay }) {
    const since = Date.now();
    await relay.helm('install');
    const pods = await relay.pods();
    return `${pods.length} pods ready after ${seconds(since)}`;
  },
  async 'helm test --logs'({ cluster, relay }) {
    const since = Date.now();
    const said = await cluster.helm('test', RELEASE, '-n', relay.namespace, '--logs');
    if (!said.includes('\ndelivered')) throw new Fault(said);
    return `delivered, ${seconds(since)}`;
  },
  async 'the first lines of the notes'({ cluster, relay: { namespace } }) {
    const notes = await cluster.helm('get', 'notes', RELEASE, '-n', namespace);
    const line = (start) => {
      const found = notes.split('\n').find((text) => text.trim().startsWith(start));
      if (!found) throw new Fault(`no line ${start} in the notes:\n${notes}`);
      return found.trim();
    };
    const made = await cluster.inside('sh', ['-c', line(`kubectl -n ${namespace} exec`)]);
    const { clientId, clientSecret } = JSON.parse(made);
    // Ends with its input: what nsenter starts outlives it.
    const forwarding = `${line(`kubectl -n ${namespace} port-forward svc/${FULL_NAME}-ingress`)} & read _; kill $!`;
    const forward = cluster.spawnInside('sh', ['-c', forwarding]);
    forward.stdout.resume();
    const curl = line('curl').replace(/'partner_[^']*'/, `'${clientId}:${clientSecret}'`);
    try {
      let answer = '';
      const isGranted = async () => {
        answer = await cluster.inside('sh', ['-c', curl]).catch((error) => error.message);
        return answer.includes('access_token') || (await delay(500, false));
      };
      if (!(await until(isGranted, 30_000))) throw new Fault(answer);
    } finally {
      forward.stdin.end();
    }
    return 'partner made, port forwarded, token granted';
  },
  async 'pod security restricted is enforced'({ cluster, images, relay: { namespace } }) {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'privileged', namespace },
      spec: { containers: [{ name: 'x', image: images['partner-relay'].reference }] },
    };
    const refused = await cluster.apply('privileged', [pod]).catch((error) => error);
    if (typeof refused === 'string' || !/violates PodSecurity/.test(refused.message)) throw new Fault(String(refused));
    const pods = (await cluster.json('-n', namespace, 'get', 'pods')).items;
    return `${pods.length} pods run in the namespace, one without a security context is refused`;
  },
};

/** @param mode what is uninstalled: two groups have two names */
export const uninstallGroup = (mode) => ({
  async [`uninstall, ${mode}`]({ cluster, relay: { namespace } }) {
    const since = Date.now();
    await cluster.helm('uninstall', RELEASE, '-n', namespace, '--wait', '--timeout=3m');
    const kinds = 'all,configmap,secret,serviceaccount,networkpolicy,pdb,pvc,job';
    const names = async () =>
      (await cluster.kubectl('-n', namespace, 'get', kinds, '-o', 'name')).trim().split('\n').toSorted();
    const test = `pod/${FULL_NAME}-test`;
    let left;
    // Helm does not wait for the pods of what it deletes.
    const isGone = async () => {
      left = (await names()).filter((name) => !MADE_BEFORE.has(name));
      return left.every((name) => name === test) || (await delay(1_000, false));
    };
    if (!(await until(isGone, 90_000))) throw new Fault(`left: ${left.join(', ')}`);
    return `${seconds(since)}; left are Secrets and the ConfigMap that the chart did not make, and ${left.join(', ') || 'nothing else'}`;
  },
});
