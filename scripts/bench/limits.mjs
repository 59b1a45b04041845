// What the machine allows in the minutes of the measurement: the least that does the same, and ours as a multiple of it. Machines,
// and one machine on two days, differ by a factor of two; the ratio does not.
import { Fault } from '../lib/process.mjs';
import { fsyncTimes } from './fsync.mjs';
import { spread } from './numbers.mjs';
import { cpuOf, cpuSince, quiet } from './proc.mjs';
import { runOnce } from './scenarios.mjs';
import { startTool } from './tool.mjs';

const COUNT = 20_000;
const CONNECTIONS = 64;
const PATIENCE_MS = 30_000;

export const limitTitles = {
  http: 'node:http parses the JSON of the body and answers 202',
  log: 'the same and one kafkajs producer: acks=all, what arrives during a request is the next one',
  post: 'undici posts the same body to the same endpoint over 64 connections',
  fsync: 'append of 300 bytes and fdatasync where the stores have their data, one after the other',
};

/** Which limits a scenario is held against. */
const NEEDED = { a: ['http', 'log'], b: ['log', 'post'], c: ['fsync'], d: ['post'], e: ['log', 'post'] };

/** Spreads of `perSecond` and of CPU ms by process for each limit that these scenarios need; of `p50` and `p99` for fsync. */
export async function measureLimits(stack, tools, folder, { names, runs, scale, warmUp }, ends) {
  const wanted = new Set(names.flatMap((name) => NEEDED[name] ?? []));
  const of = (count) => ({ count: Math.ceil(count * scale), connections: CONNECTIONS });
  const measure = {
    http: () => accepting('http', {}),
    log: () => accepting('log', { brokers: stack.env.KAFKA_BROKERS, topic: 'bench.limit', partitions: 6 }),
    post: posting,
    fsync: () => repeat(() => fsyncTimes(folder, of(2_000).count)),
  };
  const found = {};
  for (const name of Object.keys(limitTitles)) if (wanted.has(name)) found[name] = await measure[name]();
  return found;

  async function repeat(once) {
    const done = [];
    for (let run = 0; run < runs; run += 1) done.push(await once());
    return Object.fromEntries(Object.keys(done[0]).map((key) => [key, spread(done.map((figures) => figures[key]))]));
  }

  async function withTool(name, task) {
    const tool = startTool(name);
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
      await runOnce(relay, 0, of(warmUp));
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
      await once(of(warmUp));
      return repeat(() => once(of(COUNT)));
    });
  }
}

const accepted = ({ figures }) => figures.acceptedPerSecond.median;
const delivered = ({ figures }) => figures.deliveriesPerSecond.median;
const ingress = ({ cpu }) => cpu.ingress.median;
const worker = ({ cpu }) => cpu.worker.median;
const total = ({ figures }) => figures.cpuMs.median;
const logWithKafka = ({ log }) => log.cpuMs.median + log.kafkaMs.median;
const logAndPost = (limits) => logWithKafka(limits) + limits.post.cpuMs.median;

const receiptP99 = ({ figures }) => figures.receiptP99.median;

/**
 * Ours ÷ the limit, of medians: scenario, what is compared, ours, the limit, and the goal where there is one. Where the stores count
 * for us, the log limit's Kafka counts for it; no limit has a Redis. What f is held against is our own b.
 */
const COMPARED = [
  ['a', 'accepted/s ÷ http limit', accepted, ({ http }) => http.perSecond.median],
  ['a', 'accepted/s ÷ log limit', accepted, ({ log }) => log.perSecond.median, { atLeast: 0.55 }],
  ['a', 'CPU of the ingress ÷ http limit', ingress, ({ http }) => http.cpuMs.median],
  ['a', 'CPU of the ingress ÷ log limit', ingress, ({ log }) => log.cpuMs.median, { atMost: 1.6 }],
  ['a', 'CPU of relay and stores ÷ log limit and its Kafka', total, logWithKafka],
  ['b', 'deliveries/s ÷ log limit', delivered, ({ log }) => log.perSecond.median],
  ['b', 'CPU of relay and stores ÷ (log limit and its Kafka + post limit)', total, logAndPost, { atMost: 2 }],
  ['c', 'POST to receipt p50 ÷ fsync p50', ({ figures }) => figures.receiptP50.median, ({ fsync }) => fsync.p50.median],
  ['c', 'POST to receipt p99 ÷ fsync p99', receiptP99, ({ fsync }) => fsync.p99.median],
  ['d', 'deliveries/s ÷ post limit', delivered, ({ post }) => post.perSecond.median],
  ['d', 'CPU of the worker ÷ post limit', worker, ({ post }) => post.cpuMs.median],
  ['e', 'CPU of relay and stores ÷ (log limit and its Kafka + post limit)', total, logAndPost],
  ['f', 'POST to receipt p99 on one core ÷ that of b', receiptP99, (_, { b }) => b && receiptP99(b), { atMost: 3 }],
];

export const againstLimits = ({ scenarios, limits }) =>
  COMPARED.filter(([name]) => name in scenarios).flatMap(([name, label, oursOf, limitOf, goal]) => {
    const [ours, limit] = [oursOf(scenarios[name]), limitOf(limits, scenarios)];
    return limit === undefined ? [] : [{ name, label, ours, limit, ratio: ours / limit, goal }];
  });
