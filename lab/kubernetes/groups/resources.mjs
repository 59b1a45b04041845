// Memory and CPU of each pod, at rest and under load, beside its requests and limits.
import { setTimeout as delay } from 'node:timers/promises';
import { Fault } from '../../../scripts/lib/process.mjs';
import { judged } from '../release.mjs';
import { NODE } from '../settings.mjs';

const REST_MS = 20_000;
const LOAD_MS = 60_000;
const LOAD_RATE = 500;
const ROLES = ['ingress', 'worker', 'operations'];

export const resourceGroups = {
  async 'memory and CPU at rest and under load'({ cluster, relay }) {
    const rest = await during(cluster, relay, REST_MS);
    const load = await relay.load({ rate: LOAD_RATE, kept: 1 });
    const busy = await during(cluster, relay, LOAD_MS);
    const found = await load.stop();
    const said = judged(found);
    const lines = [];
    const each = [];
    for (const role of ROLES) {
      const pods = await relay.ready(role);
      const { requests = {}, limits = {} } = pods[0].spec.containers[0].resources;
      const of = (used) => {
        const all = pods.map(({ metadata }) => used[metadata.name]).filter(Boolean);
        if (all.length === 0) throw new Fault(`no figures of ${role}`);
        const most = (what) => Math.max(...all.map((one) => one[what]));
        return `${Math.round(most('memory') / 2 ** 20)} MiB, ${Math.round(most('millis'))}m`;
      };
      const sum = pods.reduce((total, { metadata }) => total + (busy[metadata.name]?.millis ?? 0), 0);
      each.push(`${role} ${(sum / found.perSecond).toFixed(2)} ms`);
      lines.push(
        `${role}: ${of(rest)} at rest, ${of(busy)} at ${found.perSecond}/s (requests ${requests.memory}, ${requests.cpu}; limit ${limits.memory})`,
      );
    }
    return `${lines.join('; ')}; CPU of an envelope and its delivery: ${each.join(', ')}; ${said}`;
  },
};

/** By pod the memory at the end of a time, and the CPU within it in thousandths of a core. */
async function during(cluster, relay, ms) {
  const before = await usage(cluster, relay);
  await delay(ms);
  const after = await usage(cluster, relay);
  return Object.fromEntries(
    Object.entries(after).flatMap(([name, { nanos, at, memory }]) => {
      const first = before[name];
      return first && at > first.at
        ? [[name, { memory, millis: (nanos - first.nanos) / 1e6 / ((at - first.at) / 1000) }]]
        : [];
    }),
  );
}

async function usage(cluster, { namespace }) {
  const { pods } = JSON.parse(await cluster.kubectl('get', '--raw', `/api/v1/nodes/${NODE}/proxy/stats/summary`));
  return Object.fromEntries(
    pods
      .filter(({ podRef }) => podRef.namespace === namespace)
      .map(({ podRef, cpu, memory }) => [
        podRef.name,
        { nanos: cpu.usageCoreNanoSeconds, at: Date.parse(cpu.time), memory: memory.workingSetBytes },
      ]),
  );
}
