// npm run bench -- curves: what a delivery costs by the number of webhooks, by the rate, by the number of processes, and when it lay in
// the log before. Each point is one run after a warm-up.
import { join } from 'node:path';
import { home, root } from '../../scripts/lib/paths.mjs';
import { chartOf, markdownOf, textOf } from './curves-report.mjs';
import { drain } from './drain.mjs';
import { machineOf, settings } from '../../scripts/bench/machine.mjs';
import { quiet } from '../../scripts/bench/proc.mjs';
import { save } from '../../scripts/bench/save.mjs';
import { runOnce, scaled } from '../../scripts/bench/scenarios.mjs';
import { appOf, portsOf, register, startStack, withRoles } from '../../scripts/bench/system.mjs';
import { startTool } from '../../scripts/bench/tool.mjs';

const SATURATION = { count: 20_000, connections: 64 };
/** For each process: half of what the scenarios take, since several sets of processes are warmed up. */
const WARM_UP = { count: 40_000, connections: 64 };
const SETTLE = { count: 5_000, connections: 64 };

const RATES = [100, 200, 500, 1_000, 2_000];
const atRate = (rate, seconds) => ({ count: rate * seconds, connections: 4, rate });

const PROCESSES = [
  { ingress: 1, worker: 1 },
  { ingress: 1, worker: 2 },
  { ingress: 1, worker: 3 },
  { ingress: 2, worker: 1 },
  { ingress: 2, worker: 2 },
];

const WEBHOOKS = [10, 100, 1_000, 10_000];
/** The webhooks of the number curve have an event type of their own; `partners` partners share them, each with one endpoint. */
const MANY = { type: 'plan.created', partners: 10, deliveries: 40_000 };
/** A tenth of 10,000 is what a partner may have by default, but not at one endpoint. */
const QUOTAS = { WEBHOOKS_PER_ORIGIN: '1000', WEBHOOK_CHANGES: '1000000' };

const WORKERS_THAT_DRAIN = [1, 2];
/** Fewer are delivered before the last worker is ready. */
const LEAST_RECORDS = 20_000;

export async function curves(own, { scale, drain: records, write, json }, signal, ends) {
  const started = await startStack(own, signal);
  const stack = { ...started, env: { ...started.env, ...QUOTAS } };
  const tools = { load: startTool('load'), endpoints: startTool('endpoints'), many: startTool('endpoints') };
  for (const tool of Object.values(tools)) ends.push(() => tool.stop());
  const machine = await machineOf(stack);
  console.log(`load average before the run: ${machine['load average before the run']}`);
  const warmUp = (processes) => scaled(WARM_UP, scale * processes);
  const [url] = await tools.endpoints.ask('listen', { count: 1 });
  let isRegistered = false;

  const result = { measuredOn: new Date().toISOString().slice(0, 10), scale, machine, settings };
  const processes = [];
  for (const counts of PROCESSES) {
    await warmed(counts, async (relay) => {
      processes.push(await point(relay, `${counts.ingress} + ${counts.worker}`, SATURATION, SETTLE));
      if (result.rates === undefined) result.rates = await rates(relay, processes[0]);
    });
  }
  result.processes = processes;
  result.records = Math.max(LEAST_RECORDS, Math.ceil(records * scale));
  result.draining = [{ ...processes[0], title: 'keeping up, 1 worker' }];
  for (const workers of WORKERS_THAT_DRAIN) {
    const sizes = { count: result.records, warm: warmUp(workers).count };
    result.draining.push(...told(await drain(withCounts, workers, sizes)));
  }
  await warmed({ ingress: 1, worker: 1 }, async (relay) => Object.assign(result, await webhooks(relay)));

  console.log(`\n${textOf(result)}\n`);
  save(json ?? join(home, 'curves.json'), result);
  if (write) {
    save(join(root, 'docs', 'evidence', 'curves.md'), markdownOf(result));
    save(join(root, 'docs', 'evidence', 'images', 'curves.svg'), chartOf(result));
  }
  const all = Object.values(result).filter(Array.isArray).flat();
  return all.some(({ lost }) => lost > 0) ? 1 : 0;

  async function withCounts(counts, task) {
    const ports = await portsOf(counts);
    if (counts.ingress > 0) ports.ingress = stack.ports.ingress; // the public URL has its port
    return withRoles({ stack: { ...stack, ports }, tools, signal, ends }, task);
  }

  /** With so many processes, their code compiled, and the one webhook registered. */
  async function warmed(counts, task) {
    return withCounts(counts, async (relay) => {
      if (!isRegistered) await register(relay.stack, [url]);
      isRegistered = true;
      await runOnce(relay, 1, warmUp(Math.max(counts.ingress, counts.worker)));
      await task(relay);
    });
  }

  async function rates(relay, saturated) {
    const found = [];
    for (const rate of RATES)
      found.push(await point(relay, `${rate.toLocaleString('en-US')}/s`, atRate(rate, 15), atRate(rate, 3)));
    return [...found, { ...saturated, title: 'saturation' }];
  }

  /** The cost to the one webhook beside so many of another type, and the cost to these. */
  async function webhooks(relay) {
    const partners = [];
    for (let index = 0; index < MANY.partners; index += 1)
      partners.push(await stack.relay('admin', 'clients', 'create', 'partner', `many ${index}`));
    const ofOthers = [];
    const ofOneType = [];
    let registered = 0;
    for (const unscaled of WEBHOOKS) {
      const count = Math.ceil(unscaled * scale);
      const urls = await tools.many.ask('listen', { count, origins: partners.length });
      const added = (_, index) => index >= registered;
      await Promise.all(
        partners.map((partner, turn) => {
          const its = urls.filter((each, index) => added(each, index) && index % partners.length === turn);
          return register({ ...relay.stack, partner }, its, MANY.type);
        }),
      );
      registered = count;
      const title = count.toLocaleString('en-US');
      const beside = await point(relay, `beside ${title}`, SATURATION, SETTLE);
      const paced = await point(relay, `200/s beside ${title}`, atRate(200, 10), atRate(200, 2));
      const { p50, p99 } = paced;
      ofOthers.push({ ...beside, title, p50, p99, lost: beside.lost + paced.lost });
      const work = { type: MANY.type, connections: 64, count: Math.max(2, MANY.deliveries / unscaled) };
      const settle = { ...work, count: Math.ceil(work.count / 4) };
      const fanOut = { ...relay, endpoints: tools.many };
      ofOneType.push({ ...(await point(fanOut, `to ${title}`, work, settle, count)), title });
    }
    return { ofOthers, ofOneType };
  }

  /** One run after a short warm-up; what either loses counts. */
  async function point(relay, title, work, first, hooks = 1) {
    const before = await runOnce(relay, hooks, scaled(first, scale));
    await quiet(relay.pids);
    const run = await runOnce(relay, hooks, scaled(work, scale));
    const { deliveriesPerSecond: perSecond, receiptP50: p50, receiptP99: p99, jobs } = run.figures;
    const { othersShare, repeats } = run;
    const lost = before.lost + run.lost;
    return told([{ title, perSecond, cpu: run.cpu, p50, p99, jobs, lost, repeats, othersShare }])[0];
  }

  /** Prints the points, with the CPU of each kind of process instead of each process. */
  function told(points) {
    return points.map((each) => {
      const cpu = {};
      for (const [name, ms] of Object.entries(each.cpu))
        if (!(name in tools)) cpu[appOf(name)] = (cpu[appOf(name)] ?? 0) + ms;
      const cpuMs = Object.values(cpu).reduce((sum, ms) => sum + ms, 0);
      const others = each.othersShare > 0.05 ? `, others used ${(each.othersShare * 100).toFixed(0)} % of it` : '';
      console.log(
        `${each.title}  ${each.perSecond.toFixed(0)}/s, CPU ${(cpuMs * 1000).toFixed(0)} µs each, lost ${each.lost}${others}`,
      );
      return { ...each, cpu, cpuMs };
    });
  }
}
