// npm run bench -- --check REV: this work tree against another commit. In each round both systems start anew, with stores of their own,
// and warm up; then one of them is loaded while the other idles, in turn. A load is cut into pieces, because the speed of a machine
// changes within half a minute: the two runs of a pair are seconds apart. Which starts first, and which is loaded first, changes from
// round to round and from pair to pair.
import { join } from 'node:path';
import { home } from '../lib/paths.mjs';
import { discard } from '../lib/private-home.mjs';
import { checkText, hasFailed, rowsOf } from './check-report.mjs';
import { machineOf } from './machine.mjs';
import { cpuOf, cpuSince, quiet, rssOf } from './proc.mjs';
import { lineOf, runOnce, scaled, scenarios, WARM_UP } from './scenarios.mjs';
import { applyTypes, BUILT_IN_TYPES, register, startRoles, startStack, tokenOf } from './system.mjs';
import { save } from './save.mjs';
import { startTool } from './tool.mjs';
import { commitOf, isSameCode, twoTrees } from './trees.mjs';

/** Twice the load for each side in a round, half of it in each order, so that a drift of the machine favours neither side. */
const LOADS = 2;

/** Resolves with 1 when a figure is slower for sure or something was lost. */
export async function check(own, { rev, names, rounds, scale, types, json }, signal, ends) {
  const commit = await commitOf(rev);
  const isSame = await isSameCode(commit);
  const trees = await twoTrees(own, commit, signal, ends);
  // Both use the same tools: their CPU time per unit shows how alike the minutes were.
  const tools = { load: startTool('load'), endpoints: startTool('endpoints') };
  for (const tool of Object.values(tools)) ends.push(() => tool.stop());
  const found = { scenarios: Object.fromEntries(names.map((name) => [name, []])), processes: [], idle: [] };
  let machine;
  for (let round = 1; round <= rounds; round += 1) {
    signal.throwIfAborted();
    console.log(`round ${round}/${rounds}`);
    const order = round % 2 === 1 ? ['mine', 'other'] : ['other', 'mine'];
    const systems = {};
    for (const side of order) systems[side] = await start(side);
    machine ??= await machineOf(systems.mine.stack);
    const broken = Promise.race(order.map((side) => systems[side].broken));
    await Promise.race([broken, playRound(order, systems)]);
    for (const side of order.toReversed()) {
      await systems[side].stop();
      ends.splice(ends.indexOf(systems[side].stop), 1);
    }
  }
  const result = { commit, isSame: isSame && types === BUILT_IN_TYPES, types, names, rounds, scale, machine, ...found };
  result.rows = rowsOf(result);
  console.log(`\n${checkText(result)}\n`);
  save(json ?? join(home, 'check.json'), result);
  return hasFailed(result) ? 1 : 0;

  async function start(side) {
    const folder = join(own, `relay-servers-${side}`);
    const stack = await startStack(folder, signal, trees[side]);
    const stopStack = () => discard(folder);
    ends.push(stopStack);
    if (side === 'mine' && types > BUILT_IN_TYPES) await applyTypes(stack, types, signal);
    const roles = await startRoles(stack, signal);
    const stop = async () => {
      await roles.stop();
      await stopStack();
    };
    ends.splice(ends.indexOf(stopStack), 1, stop);
    const relay = { ...roles.pids, ...stack.pids };
    const pids = { ...relay, load: tools.load.pid, endpoints: tools.endpoints.pid };
    const target = { port: Number(stack.ports.ingress.PORT), token: await tokenOf(stack.url, stack.source) };
    await quiet(pids);
    const processes = {};
    for (const app of Object.keys(roles.pids)) {
      processes[`${app} start to ready, ms`] = roles.startMs[app];
      processes[`${app} RSS idle, MiB`] = rssOf(pids[app]);
    }
    return { ...tools, tools, stack, target, relay, pids, processes, broken: roles.broken, stop };
  }

  async function playRound(order, systems) {
    const all = { ...tagged(systems.mine.relay, 'mine'), ...tagged(systems.other.relay, 'other') };
    const rest = async () => {
      await quiet({ ...all, load: tools.load.pid, endpoints: tools.endpoints.pid });
      signal.throwIfAborted();
    };
    const twinOf = (side) => systems[side === 'mine' ? 'other' : 'mine'].relay;
    const on = (side, hooks, work) =>
      runOnce(systems[side], hooks, scaled(work, scale), tagged(twinOf(side), 'of the idle twin'));

    const [url] = await tools.endpoints.ask('listen', { count: 1 });
    for (const side of order) {
      const unregister = await register(systems[side].stack, [url]);
      await on(side, 1, WARM_UP);
      await unregister();
    }
    for (const name of names) {
      const { hooks, load, warmUp, pieces = 4 } = scenarios[name];
      const piece = scaled(load, 1 / pieces);
      const urls = await tools.endpoints.ask('listen', { count: hooks });
      const unregister = [];
      for (const side of order) {
        unregister.push(await register(systems[side].stack, urls));
        await on(side, hooks, warmUp);
      }
      const pairs = [];
      for (let pair = 0; pair < LOADS * pieces; pair += 1) {
        const runs = {};
        for (const side of pair % 2 === 0 ? order : order.toReversed()) {
          await rest();
          const idle = twinOf(side);
          const before = cpuOf(idle);
          const from = performance.now();
          runs[side] = await on(side, hooks, piece);
          const idleMs = Object.values(cpuSince(idle, before)).reduce((sum, ms) => sum + ms, 0);
          found.idle.push(idleMs / (performance.now() - from));
          console.log(`${name} ${side.padEnd(5)}  ${lineOf(name, runs[side])}`);
        }
        pairs.push([runs.mine, runs.other]);
      }
      found.scenarios[name].push(pairs);
      for (const end of unregister) await end();
    }
    for (const side of order) {
      const { processes, pids, stack } = systems[side];
      for (const app of Object.keys(stack.ports)) processes[`${app} RSS after the runs, MiB`] = rssOf(pids[app]);
    }
    found.processes.push([systems.mine.processes, systems.other.processes]);
  }
}

const tagged = (pids, side) => Object.fromEntries(Object.entries(pids).map(([name, pid]) => [`${name} ${side}`, pid]));
