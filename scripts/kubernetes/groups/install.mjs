// Installed, tested, reached as the notes say, confined; and at the end uninstalled.
import { setTimeout as delay } from 'node:timers/promises';
import { Fault, until } from '../../lib/process.mjs';
import { FULL_NAME, NAMESPACE, RELEASE } from '../release.mjs';

const seconds = (since) => `${Math.round((Date.now() - since) / 1000)} s`;

export const installGroups = {
  async 'install, development mode'({ relay }) {
    const since = Date.now();
    await relay.helm('install');
    const pods = await relay.pods();
    return `${pods.length} pods ready after ${seconds(since)}`;
  },
  async 'helm test --logs'({ cluster }) {
    const since = Date.now();
    const said = await cluster.helm('test', RELEASE, '-n', NAMESPACE, '--logs');
    if (!said.includes('\ndelivered')) throw new Fault(said);
    return `delivered, ${seconds(since)}`;
  },
  async 'the first lines of the notes'({ cluster }) {
    const notes = await cluster.helm('get', 'notes', RELEASE, '-n', NAMESPACE);
    const line = (start) => {
      const found = notes.split('\n').find((text) => text.trim().startsWith(start));
      if (!found) throw new Fault(`no line ${start} in the notes:\n${notes}`);
      return found.trim();
    };
    const made = await cluster.inside('sh', ['-c', line(`kubectl -n ${NAMESPACE} exec`)]);
    const { clientId, clientSecret } = JSON.parse(made);
    // Ends with its input: what nsenter starts outlives it.
    const forwarding = `${line(`kubectl -n ${NAMESPACE} port-forward svc/${FULL_NAME}-ingress`)} & read _; kill $!`;
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
  async 'pod security restricted is enforced'({ cluster, images }) {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'privileged', namespace: NAMESPACE },
      spec: { containers: [{ name: 'x', image: images['partner-relay'].reference }] },
    };
    const refused = await cluster.apply('privileged', [pod]).catch((error) => error);
    if (typeof refused === 'string' || !/violates PodSecurity/.test(refused.message)) throw new Fault(String(refused));
    const pods = (await cluster.json('-n', NAMESPACE, 'get', 'pods')).items;
    return `${pods.length} pods run in the namespace, one without a security context is refused`;
  },
};

export const uninstallGroups = {
  async uninstall({ cluster }) {
    const since = Date.now();
    await cluster.helm('uninstall', RELEASE, '-n', NAMESPACE, '--wait', '--timeout=3m');
    const kinds = 'all,configmap,secret,serviceaccount,networkpolicy,pdb,pvc,job';
    const names = async () =>
      (await cluster.kubectl('-n', NAMESPACE, 'get', kinds, '-o', 'name')).trim().split('\n').toSorted();
    const known = new Set(['configmap/kube-root-ca.crt', 'secret/relay-keys', 'serviceaccount/default']);
    const test = `pod/${FULL_NAME}-test`;
    let left;
    // Helm does not wait for the pods of what it deletes.
    const isGone = async () => {
      left = (await names()).filter((name) => !known.has(name));
      return left.every((name) => name === test) || (await delay(1_000, false));
    };
    if (!(await until(isGone, 90_000))) throw new Fault(`left: ${left.join(', ')}`);
    return `${seconds(since)}; left are the Secret relay-keys, which the chart did not make, and ${left.join(', ') || 'nothing else'}`;
  },
};
