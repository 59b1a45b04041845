// Starts the stores in the cluster, once for all phases that need them.
import { setTimeout as delay } from 'node:timers/promises';
import { Fault, until } from '../../../scripts/lib/process.mjs';
import { certified, passwords, STORES, stores as manifests } from './stores.mjs';

const READY_MS = 180_000;
const SETS = ['kafka', 'redis', 'sentinel', 'plain', 's', 'c'];
/** Asked within a pod, because the passwords are variables there. */
const SENTINEL =
  'redis-cli -p 26379 --tls --cacert /tls/ca.crt --no-auth-warning -a "$SENTINEL_PASSWORD" INFO sentinel';
const WATCHED = 'slaves=1,sentinels=3';
const FORMED = 'cluster_state:ok';

/** Resolves with the logins when all stores serve. */
export async function startStores({ cluster, images, authority }) {
  const logins = passwords();
  const tls = await authority.issue('stores', certified);
  const data = cluster.home;
  await cluster.apply('stores', manifests({ images, tls, ca: authority.ca, logins, data }));
  for (const set of SETS) await kubectl(cluster, 'rollout', 'status', `statefulset/${set}`, '--timeout=3m');
  const { items } = await cluster.json('-n', STORES, 'get', 'pods', '-l', 'store=c');
  const nodes = items.map(({ status }) => `${status.podIP}:6379`).join(' ');
  await answers(
    cluster,
    'c-0',
    `redis-cli --cluster create ${nodes} --cluster-yes >&2; redis-cli CLUSTER INFO`,
    FORMED,
  );
  await answers(cluster, 'sentinel-0', SENTINEL, WATCHED);
  return { logins };
}

const kubectl = (cluster, ...args) => cluster.kubectl('-n', STORES, ...args);

async function answers(cluster, pod, line, wanted) {
  let told;
  const isSo = async () => {
    told = await kubectl(cluster, 'exec', pod, '--', 'sh', '-c', line).catch((error) => error.message);
    return told.includes(wanted) || (await delay(1_000, false));
  };
  if (!(await until(isSo, READY_MS))) throw new Fault(`${pod} of the stores: ${told}`);
}
