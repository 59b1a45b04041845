// npm run bench -- limits: what the machine allows, as the least that does a step of the relay, and what its state takes in Redis.
// Machines, and one machine on two days, differ by a factor of two: hold `npm run bench` of the same minutes against it.
import { closeSync, fdatasyncSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { Fault } from '../../scripts/lib/process.mjs';
import { quantile, spread } from '../../scripts/bench/numbers.mjs';
import { cpuOf, cpuSince, quiet } from '../../scripts/bench/proc.mjs';
import { runOnce, WARM_UP } from '../../scripts/bench/scenarios.mjs';
import { startStack } from '../../scripts/bench/system.mjs';
import { aligned, number } from '../../scripts/bench/tables.mjs';
import { now, startTool } from '../../scripts/bench/tool.mjs';
import { seenIds, waitingJobs } from './redis-memory.mjs';

const COUNT = 20_000;
const CONNECTIONS = 64;
const PATIENCE_MS = 30_000;

const TITLES = {
  http: 'node:http parses the JSON of the body and answers 202',
  log: 'the same and one kafkajs producer: acks=all, what arrives during a request is the next one',
  post: 'undici posts the same body to the same endpoint over 64 connections',
  fsync: 'append of 300 bytes and fdatasync where the stores have their data, one after the other',
};

export async function limits(own, { runs, scale }, signal, ends) {
  const stack = await startStack(own, signal);
  const tools = { load: startTool('load'), endpoints: startTool('endpoints') };
  for (const tool of Object.values(tools)) ends.push(() => tool.stop());
  const found = await measureLimits(stack, tools, own, { runs, scale }, ends);
  const rows = [['limit', 'measured', 'min', 'median', 'max']];
  for (const [limit, figures] of Object.entries(found))
    for (const [figure, { min, median, max }] of Object.entries(figures)) {
      const shown = [min, median, max].map((value) => number(value, figure === 'perSecond' ? 0 : 3));
      rows.push([limit, figure, ...shown]);
    }
  const seen = await seenIds(own, scale, signal);
  const waiting = await waitingJobs(own, signal);
  const titles = Object.entries(TITLES).map(([limit, title]) => `${limit}  ${title}`);
  console.log(`\n${titles.join('\n')}\n`);
  for (const table of [rows, seen, waiting]) console.log(`${aligned(table)}\n`);
  return 0;
}

/** Spreads of `perSecond` and of CPU ms by process for each limit; of `p50` and `p99` in ms for fsync. */
async function measureLimits(stack, tools, folder, { runs, scale }, ends) {
  const of = (count) => ({ count: Math.ceil(count * scale), connections: CONNECTIONS });
  return {
    http: await accepting('http', {}),
    log: await accepting('log', { brokers: stack.env.KAFKA_BROKERS, topic: 'bench.limit', partitions: 6 }),
    post: await posting(),
    fsync: await repeat(() => fsyncTimes(folder, of(2_000).count)),
  };

  async function repeat(once) {
    const done = [];
    for (let run = 0; run < runs; run += 1) done.push(await once());
    return Object.fromEntries(Object.keys(done[0]).map((key) => [key, spread(done.map((figures) => figures[key]))]));
  }

  async function withTool(name, task) {
    const tool = startTool(name, import.meta.url);
    ends.push(tool.stop);
    const done = await task(tool);
    await tool.stop();
    ends.splice(ends.indexOf(tool.stop), 1);
    return done;
  }

  function accepting(kind, args) {
    return withTool('limit-server', async (server) => {
      const port = await server.ask(kind, args);
      const kafka = kind === 'log' ? { kafka: stack.pids.kafka } : {};
      const pids = { server: server.pid, ...kafka, load: tools.load.pid };
      const relay = { ...tools, tools, pids, target: { port, token: 'x'.repeat(43) } };
      await runOnce(relay, 0, of(WARM_UP.count));
      return repeat(async () => {
        await quiet(pids);
        const { accepted, cpu, figures } = await runOnce(relay, 0, of(COUNT));
        if (accepted < of(COUNT).count) throw new Fault(`the ${kind} limit accepted ${accepted} only`);
        return { perSecond: figures.acceptedPerSecond, cpuMs: cpu.server, ...(cpu.kafka && { kafkaMs: cpu.kafka }) };
      });
    });
  }

  async function posting() {
    const [url] = await tools.endpoints.ask('listen', { count: 1 });
    return withTool('limit-poster', async (poster) => {
      const pids = { poster: poster.pid };
      const once = async (work) => {
        await tools.endpoints.ask('forget');
        await quiet(pids);
        const before = cpuOf(pids);
        const { startedAt, refused } = await poster.ask('post', { url, ...work });
        const { lastAt } = await tools.endpoints.ask('complete', { expected: work.count, patienceMs: PATIENCE_MS });
        if (refused > 0) throw new Fault(`the post limit was refused ${refused} times`);
        return {
          perSecond: work.count / ((lastAt - startedAt) / 1000),
          cpuMs: cpuSince(pids, before).poster / work.count,
        };
      };
      await once(of(WARM_UP.count));
      return repeat(() => once(of(COUNT)));
    });
  }
}

const FSYNC_BYTES = 300; // of the append-only file for one envelope
const IN_ONE_TURN = 50; // Ctrl-C is heard in between

/** Appends to a file of its own in the folder, `count` times; in ms. */
async function fsyncTimes(folder, count) {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'fsync');
  const handle = openSync(file, 'a');
  const bytes = Buffer.alloc(FSYNC_BYTES, 'x');
  const times = [];
  try {
    while (times.length < count) {
      const from = now();
      writeSync(handle, bytes);
      fdatasyncSync(handle);
      times.push(now() - from);
      if (times.length % IN_ONE_TURN === 0) await turn();
    }
  } finally {
    closeSync(handle);
    rmSync(file, { force: true });
  }
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}
