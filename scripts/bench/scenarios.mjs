// The scenarios and their figures. Goals are those that docs/evidence/performance.md is held against.
import { setTimeout as delay } from 'node:timers/promises';
import { Fault } from '../lib/process.mjs';
import { quantile } from './numbers.mjs';
import { cpuOf, cpuSince, watchOthers } from './proc.mjs';
import { jobsAdded, redisWork } from './system.mjs';

const rate = (label, goal) => ({ label, unit: '/s', digits: 0, goal });
const time = (label, goal) => ({ label, unit: 'ms', digits: 1, goal });
const cpu = (label, goal) => ({ label, unit: 'ms', digits: 3, goal });
const redisFigures = {
  redisCommands: { label: 'commands of Redis for each, those of scripts too', unit: '', digits: 1 },
  redisBytes: { label: "bytes of Redis' append-only file for each", unit: '', digits: 0 },
};

export const scenarios = {
  a: {
    title: '20,000 envelopes over 64 connections, nothing registered',
    hooks: 0,
    load: { count: 20_000, connections: 64 },
    warmUp: { count: 5_000, connections: 64 },
    figures: {
      acceptedPerSecond: rate('accepted', { atLeast: 6_000 }),
      answerP50: time('202 p50'),
      answerP99: time('202 p99'),
      cpuMs: cpu('CPU per envelope, relay and stores'),
    },
  },
  b: {
    title: '20,000 envelopes over 64 connections, one webhook',
    hooks: 1,
    load: { count: 20_000, connections: 64 },
    warmUp: { count: 5_000, connections: 64 },
    figures: {
      deliveriesPerSecond: rate('deliveries, first post to last receipt', { atLeast: 3_500 }),
      acceptedPerSecond: rate('accepted meanwhile'),
      cpuMs: cpu('CPU per delivery, relay and stores', { atMost: 0.45 }),
      ...redisFigures,
    },
  },
  c: {
    title: '200 envelopes a second for 30 s, one webhook',
    hooks: 1,
    load: { count: 6_000, connections: 4, rate: 200 },
    pieces: 12,
    warmUp: { count: 600, connections: 4, rate: 200 },
    figures: {
      receiptP50: time('POST to receipt p50', { atMost: 5 }),
      receiptP99: time('POST to receipt p99', { atMost: 20 }),
      answerP50: time('202 p50'),
      answerP99: time('202 p99'),
    },
  },
  d: {
    title: '2,000 envelopes for each of 10 webhooks',
    hooks: 10,
    load: { count: 2_000, connections: 64 },
    warmUp: { count: 500, connections: 64 },
    figures: {
      deliveriesPerSecond: rate('deliveries, first post to last receipt'),
      cpuMs: cpu('CPU per delivery, relay and stores'),
      ...redisFigures,
    },
  },
};

/**
 * The work of new processes before anything is measured, with one webhook. V8 compiles 130 functions of the ingress and 227 of the worker in
 * the first 10,000 envelopes, 1 to 20 and 10 to 50 in each 10,000 after the eighth (--trace-opt). CPU per envelope in scenario a on
 * an idle machine: 0.298 ms up to 25,000, 0.254 from 45,000 to 105,000, 0.245 from there to 205,000.
 */
export const WARM_UP = { count: 80_000, connections: 64 };

export const PATIENCE_MS = 30_000;
// Writes after the last receipt belong to the delivery: marks, commits, attempt records.
export const AFTERMATH_MS = 300;

/**
 * One run: what was measured, and what was lost or came twice. `relay` is running and its webhooks are registered; `idle` are further
 * processes of the benchmark, which nobody else's share is to count.
 */
export async function runOnce(relay, hooks, work, idle = {}) {
  const { load, endpoints, pids } = relay;
  await endpoints.ask('forget');
  const asked = async () =>
    relay.stack === undefined ? undefined : { jobs: await jobsAdded(relay.stack), ...(await redisWork(relay.stack)) };
  const redisBefore = await asked();
  const others = watchOthers({ ...idle, ...pids });
  const before = cpuOf(pids);
  const { accepted, otherAnswers, ...posted } = await load.ask('post', { ...relay.target, ...work });
  if (accepted.size === 0) throw new Fault(`nothing was accepted: ${JSON.stringify(otherAnswers)}`);
  const expected = accepted.size * hooks;
  const { receipts, repeats, lastAt } = await endpoints.ask('complete', { expected, patienceMs: PATIENCE_MS });
  await delay(AFTERMATH_MS);

  const used = cpuSince(pids, before);
  const redisAfter = await asked();
  const othersShare = others();
  const ids = [...accepted.keys()];
  const found = receipts.slice(0, hooks).map((receipt) => ids.filter((id) => receipt.has(id)).length);
  const delivered = found.reduce((sum, count) => sum + count, 0);
  const units = hooks === 0 ? accepted.size : delivered;
  const latencies =
    hooks === 0 ? [] : ids.flatMap((id) => (receipts[0].has(id) ? [receipts[0].get(id) - accepted.get(id)] : []));
  const cpuMs = Object.fromEntries(Object.entries(used).map(([name, ms]) => [name, ms / units]));
  const own = Object.entries(cpuMs).filter(([name]) => !(name in relay.tools));
  return {
    accepted: accepted.size,
    otherAnswers,
    lost: expected - delivered,
    repeats,
    window: [posted.startedAt, Math.max(posted.endedAt, hooks === 0 ? 0 : lastAt)],
    cpu: cpuMs,
    othersShare,
    isRewritten: redisBefore?.rewrites !== redisAfter?.rewrites,
    figures: {
      acceptedPerSecond: accepted.size / ((posted.endedAt - posted.startedAt) / 1000),
      deliveriesPerSecond: delivered / ((lastAt - posted.startedAt) / 1000),
      answerP50: posted.p50,
      answerP99: posted.p99,
      sentLateP99: posted.lateP99,
      receiptP50: quantile(latencies, 0.5),
      receiptP99: quantile(latencies, 0.99),
      ...redisFiguresOf(redisBefore, redisAfter, units),
      cpuMs: own.reduce((sum, [, ms]) => sum + ms, 0),
    },
  };
}

const redisFiguresOf = (before, after, units) =>
  before === undefined
    ? { jobs: 0, redisCommands: 0, redisBytes: 0 }
    : {
        jobs: after.jobs - before.jobs,
        redisCommands: (after.commands - before.commands) / units,
        redisBytes: (after.bytes - before.bytes) / units,
      };

/** Returns the same work with a share of its envelopes. */
export const scaled = (work, scale) => ({ ...work, count: Math.ceil(work.count * scale) });

/** A run in one line. */
export function lineOf(name, { figures, lost, repeats, otherAnswers, othersShare }) {
  const shown = Object.entries(scenarios[name].figures).map(
    ([key, { label, unit, digits }]) => `${label} ${figures[key].toFixed(digits)} ${unit}`,
  );
  const answers = Object.entries(otherAnswers).map(([status, count]) => `${count} × ${status}`);
  const others = othersShare < 0.05 ? [] : [`others used ${(othersShare * 100).toFixed(0)} % of the machine`];
  return [...shown, `lost ${lost}`, `twice ${repeats}`, ...answers, ...others].join(', ');
}
