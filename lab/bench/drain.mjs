// Measures how fast the log fills while no worker runs, and the cost of delivering it then.
import { setTimeout as delay } from 'node:timers/promises';
import { cpuOf, cpuSince, watchOthers } from '../../scripts/bench/proc.mjs';
import { AFTERMATH_MS, PATIENCE_MS } from '../../scripts/bench/scenarios.mjs';
import { jobsAdded } from '../../scripts/bench/system.mjs';

/** The tool holds the envelopes of one request in memory. */
const PORTION = 20_000;
const CONNECTIONS = 64;

/**
 * Two points: filling the log without a worker, and draining by so many new ones. The draining is measured once `warm` records are
 * delivered, from where `count` are left, and by what CPU time each of these costs.
 */
export async function drain(withCounts, workers, { count, warm }) {
  return withCounts({ ingress: 1, worker: 0 }, async (filler) => {
    await filler.endpoints.ask('forget');
    const { ids, ...filling } = await fill(filler, warm + count);
    const draining = await withCounts({ ingress: 0, worker: workers }, (drainer) => empty(drainer, ids, warm));
    const noun = workers === 1 ? 'worker' : 'workers';
    return [
      { title: `filling the log for ${workers} ${noun}`, ...filling },
      { title: `draining it, ${workers} ${noun}`, ...draining },
    ];
  });
}

async function fill({ load, pids, target }, total) {
  const ids = [];
  let ms = 0;
  const others = watchOthers(pids);
  const before = cpuOf(pids);
  for (let left = total; left > 0; left -= PORTION) {
    const work = { count: Math.min(PORTION, left), connections: CONNECTIONS };
    const { accepted, startedAt, endedAt } = await load.ask('post', { ...target, ...work });
    ids.push(...accepted.keys());
    ms += endedAt - startedAt;
  }
  await delay(AFTERMATH_MS);
  return {
    ids,
    perSecond: ids.length / (ms / 1000),
    ...shared(pids, before, ids.length),
    lost: 0,
    othersShare: others(),
  };
}

async function empty({ endpoints, pids, stack }, ids, warm) {
  const { count, at } = await endpoints.ask('reached', { expected: warm, patienceMs: PATIENCE_MS });
  const jobsBefore = await jobsAdded(stack);
  const others = watchOthers(pids);
  const before = cpuOf(pids);
  const work = { expected: ids.length, patienceMs: PATIENCE_MS };
  const { receipts, repeats, lastAt } = await endpoints.ask('complete', work);
  await delay(AFTERMATH_MS);
  const lost = ids.filter((id) => !receipts[0].has(id)).length;
  const delivered = ids.length - lost - count;
  const perSecond = delivered / ((lastAt - at) / 1000);
  const jobs = (await jobsAdded(stack)) - jobsBefore;
  return { perSecond, ...shared(pids, before, delivered), jobs, lost, repeats, othersShare: others() };
}

function shared(pids, before, units) {
  const used = Object.entries(cpuSince(pids, before));
  return { cpu: Object.fromEntries(used.map(([name, ms]) => [name, ms / units])) };
}
