// Two relays on one machine, each with its own Kafka and Redis: what happens to one is held against the other, which gets the same
// load in the same minute and nothing else. Two minutes one after the other differ by more than what is to be measured wherever
// somebody else uses the processors or the disk.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { discard } from '../../scripts/lib/private-home.mjs';
import { ask } from '../../scripts/lib/tcp.mjs';
import { quantile } from '../../scripts/bench/numbers.mjs';
import { register, startRoles, startStack, tokenOf } from '../../scripts/bench/system.mjs';
import { startTool } from '../../scripts/bench/tool.mjs';

/** The load of both: envelopes to one healthy endpoint, at a rate per second. */
export const HEALTHY = { count: 4_000, connections: 4, rate: 200 };
const PATIENCE_MS = 60_000;

/** Starts both; the `one` that meets what is measured is in turn the one started first and the one started last. */
export async function startTwins(own, run, { endpoints }, signal, ends) {
  // The second home lies in the first, so that the processes a killed run left in it are found and ended too.
  const homes = [own, join(own, 'relay-servers-twin')];
  const systems = [];
  for (const home of homes) systems.push(await start(home, endpoints, signal, ends));
  const [one, twin] = run % 2 === 1 ? systems : systems.toReversed();
  const stop = async () => {
    for (const system of systems.toReversed()) {
      await system.stop();
      ends.splice(ends.indexOf(system.stop), 1);
    }
  };
  return { one, twin, stop };
}

async function start(own, endpoints, signal, ends) {
  const stack = await startStack(own, signal);
  const tools = { load: startTool('load'), flood: startTool('load'), endpoints: startTool('endpoints') };
  const roles = await startRoles(stack, signal);
  const stop = async () => {
    await roles.stop();
    for (const tool of Object.values(tools)) await tool.stop();
    await discard(own);
  };
  ends.push(stop);
  const target = { port: Number(stack.ports.ingress.PORT), token: await tokenOf(stack.url, stack.source) };
  const urls = await tools.endpoints.ask('listen', { count: endpoints });
  await register(stack, urls.slice(0, 1));
  const system = { stack, tools, target, urls, stop, broken: roles.broken, pids: { ...roles.pids, ...stack.pids } };
  await tools.load.ask('post', { ...target, ...HEALTHY, count: 1_000 }); // warm
  return system;
}

/**
 * Has Redis rewrite its file, and writes earlier data to the disk, before a part. In the middle of a part, either one holds up every
 * write of Redis, which waits for the disk, and distorts the figures of the part.
 */
export async function diskIsQuiet(systems) {
  for (const { redisPort } of systems.map(({ stack }) => stack)) {
    await ask(redisPort, 'BGREWRITEAOF\r\n', (answer) => answer.toString('latin1').endsWith('\r\n') || undefined);
    const isRewriting = () =>
      ask(
        redisPort,
        'INFO persistence\r\n',
        (answer) => /aof_rewrite_in_progress:(\d)\r/.exec(answer.toString('latin1'))?.[1],
      );
    while ((await isRewriting()) !== '0') await delay(200);
  }
  execFileSync('sync');
}

/** 200 envelopes a second to one healthy endpoint, which has forgotten what came before; `more` resolves with how many of others healthy ones must get as well. */
export async function healthy({ tools, target }, load, more = Promise.resolve(0)) {
  const { accepted } = await tools.load.ask('post', { ...target, ...load });
  const expected = accepted.size + (await more);
  const { receipts } = await tools.endpoints.ask('complete', { expected, patienceMs: PATIENCE_MS });
  const latencies = [...accepted].flatMap(([id, at]) => (receipts[0].has(id) ? [receipts[0].get(id) - at] : []));
  const delivered = receipts.reduce((sum, { size }) => sum + size, 0);
  return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), lost: expected - delivered };
}
