// Disruptions of pods while envelopes arrive: deleted, killed, evicted, out of memory.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Fault, until } from '../../../scripts/lib/process.mjs';
import { underLoad } from '../release.mjs';

const ROLES = { ingress: 2, worker: 2, operations: 1 };
/** Errors of a caller whose process was killed; a source sends the envelope again. */
const KILLED = ['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ETIMEDOUT', 'EPIPE'];
/**
 * Makes the role the first that the kernel kills, then fills what is left with processes: the kernel takes the largest, so each is
 * smaller than the role.
 */
const HELD = 'const held = Buffer.alloc(24 << 20, 1); setInterval(() => held.fill(1), 1000);';
const HOG = `const fs = require('node:fs');
const role = fs.readdirSync('/proc').find((pid) => /^[0-9]+$/.test(pid) && Number(pid) !== process.pid && read(pid).startsWith('node'));
fs.writeFileSync('/proc/' + role + '/oom_score_adj', '1000');
setInterval(() => require('node:child_process').spawn('node', ['-e', '${HELD}']), 100);
function read(pid) { try { return fs.readFileSync('/proc/' + pid + '/cmdline', 'utf8'); } catch { return ''; } }`;

export const disruptionGroups = {
  'a pod of each role deleted': ({ relay }) =>
    underLoad(relay, async () => {
      for (const [role, count] of Object.entries(ROLES)) {
        await relay.kubectl('delete', 'pod', await oneOf(relay, role), '--wait=false');
        await relay.allReady(role, count);
      }
    }),
  'a pod of each role killed': ({ relay }) =>
    underLoad(
      relay,
      async () => {
        for (const [role, count] of Object.entries(ROLES)) {
          await relay.kubectl('delete', 'pod', await oneOf(relay, role), '--grace-period=0', '--force');
          await relay.allReady(role, count);
        }
      },
      KILLED,
    ),
  async 'eviction of all pods, as a drain does it'({ cluster, relay }) {
    let refused = 0;
    const said = await underLoad(relay, async () => {
      for (const [role, count] of Object.entries(ROLES))
        for (const { metadata } of await relay.ready(role)) {
          const isEvicted = async () => {
            const answer = await evict(cluster, relay, metadata.name);
            refused += answer === 'refused' ? 1 : 0;
            return answer === 'evicted' || (await delay(1_000, false));
          };
          if (!(await until(isEvicted, 120_000))) throw new Fault(`${metadata.name} is not evicted in two minutes`);
          // A drain goes on at once; the budget holds it.
          if (role === 'operations') await relay.allReady(role, count);
        }
      for (const [role, count] of Object.entries(ROLES)) await relay.allReady(role, count);
    });
    if (refused === 0) throw new Fault('the budget refused nothing');
    return `${said}; the budgets refused ${refused} evictions meanwhile`;
  },
  async 'an ingress and a worker out of memory'({ relay }) {
    const said = await underLoad(
      relay,
      async () => {
        for (const role of ['ingress', 'worker']) {
          const name = await oneOf(relay, role);
          await relay.kubectl('exec', name, '--', 'node', '-e', HOG).catch(() => undefined);
          const reason = async () => {
            const { status } = await relay.json('get', 'pod', name);
            return (
              status.containerStatuses?.[0]?.lastState.terminated?.reason === 'OOMKilled' || (await delay(500, false))
            );
          };
          if (!(await until(reason, 60_000))) throw new Fault(`${name} was not killed for its memory`);
          await relay.allReady(role, ROLES[role]);
        }
      },
      KILLED,
    );
    return `${said}; both restarted by themselves`;
  },
};

const oneOf = async (relay, role) => {
  const [pod] = await relay.ready(role);
  if (!pod) throw new Fault(`no pod of ${role} is ready`);
  return pod.metadata.name;
};

async function evict(cluster, relay, name) {
  const file = join(cluster.home, 'eviction.json');
  writeFileSync(
    file,
    JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: relay.namespace } }),
  );
  const path = `/api/v1/namespaces/${relay.namespace}/pods/${name}/eviction`;
  return cluster.kubectl('create', '--raw', path, '-f', file).then(
    () => 'evicted',
    (error) => {
      if (/disruption budget/.test(error.message)) return 'refused';
      throw error;
    },
  );
}
