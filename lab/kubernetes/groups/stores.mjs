// Disruptions of the stores while envelopes arrive: a broker or the primary of Redis is gone for good, or all of one kind is frozen.
import { setTimeout as delay } from 'node:timers/promises';
import { Fault } from '../../../scripts/lib/process.mjs';
import { underLoad } from '../release.mjs';
import { STORES } from '../stores/stores.mjs';

const ROLES = { ingress: 2, worker: 2, operations: 1 };
const FROZEN_MS = 60_000;
/** A caller is told to come again while a store is away, or its own patience ends. */
const AWAY = ['503', 'The operation was aborted'];

export const storeGroups = {
  'a broker killed': (context) => lost(context, 'kafka', async () => 'kafka-1'),
  'the primary of Redis killed': (context) =>
    lost(context, 'redis', async () => {
      const ask = 'redis-cli -p 26379 --tls --cacert /tls/ca.crt --no-auth-warning -a "$SENTINEL_PASSWORD"';
      const told = await inStores(context, 'sentinel-0', `${ask} SENTINEL get-master-addr-by-name relay`);
      return told.split('.')[0];
    }),
  'Kafka frozen for a minute': (context) => frozen(context, 'kafka[.]Kafka'),
  'Redis frozen for a minute': (context) => frozen(context, 'redis-server'),
};

const inStores = ({ cluster }, pod, line) => cluster.kubectl('-n', STORES, 'exec', pod, '--', 'sh', '-c', line);

/** Killed without a word; its set makes it again. */
async function lost(context, set, choose) {
  const { cluster, relay } = context;
  const pod = await choose();
  const said = await underLoad(
    relay,
    async () => {
      await cluster.kubectl('-n', STORES, 'delete', 'pod', pod, '--grace-period=0', '--force');
      await cluster.kubectl('-n', STORES, 'rollout', 'status', `statefulset/${set}`, '--timeout=2m');
      await delay(20_000);
      await allReady(relay);
    },
    AWAY,
  );
  return `${pod}: ${said}`;
}

/** Nothing that a restart cannot help is restarted, and all that was accepted is delivered afterwards. */
async function frozen({ cluster, relay }, pattern) {
  const before = await relay.restarts();
  // Only of processes in the cluster's own namespace.
  const signal = (name) => cluster.inside('pkill', [`-${name}`, '-f', pattern]);
  const said = await underLoad(
    relay,
    async () => {
      await signal('STOP');
      try {
        await delay(FROZEN_MS);
      } finally {
        await signal('CONT');
      }
      await allReady(relay);
    },
    AWAY,
  );
  const after = await relay.restarts();
  const restarted = Object.keys(after).filter((name) => after[name] !== (before[name] ?? 0));
  if (restarted.length > 0) throw new Fault(`${said}\nrestarted: ${restarted.join(', ')}`);
  return `${said}; no pod was restarted`;
}

async function allReady(relay) {
  for (const [role, count] of Object.entries(ROLES)) await relay.allReady(role, count);
}
