// npm run bench -- shards: what a delivery costs Redis and the roles by the number of shards and of nodes. On one node the slope shows what
// dividing costs; on three how evenly it is divided. Primaries alone: what a replica costs is that of any replica.
import { join } from 'node:path';
import { home } from '../lib/paths.mjs';
import { machineOf, settings } from './machine.mjs';
import { spread } from './numbers.mjs';
import { quiet } from './proc.mjs';
import { startCluster } from './redis-cluster.mjs';
import { runOnce, scaled } from './scenarios.mjs';
import { save } from './save.mjs';
import { redisInfo, register, startStack, withClients } from './system.mjs';
import { startTool } from './tool.mjs';
import { withRoles } from './with-roles.mjs';

const LOAD = { count: 20_000, connections: 64 };
const WARM_UP = { count: 40_000, connections: 64 };

const LAYOUTS = [
  { nodes: 1, shards: 1 },
  { nodes: 1, shards: 2 },
  { nodes: 1, shards: 4 },
  { nodes: 1, shards: 8 },
  { nodes: 1, shards: 16 },
  { nodes: 3, shards: 3 },
  { nodes: 3, shards: 16 },
];

export async function shards(own, { runs, scale, json }, signal, ends) {
  const stack = await startStack(own, signal);
  const tools = { load: startTool('load'), endpoints: startTool('endpoints') };
  for (const tool of Object.values(tools)) ends.push(() => tool.stop());
  const machine = await machineOf(stack);
  const [url] = await tools.endpoints.ask('listen', { count: 1 });
  const layouts = [];
  for (const layout of LAYOUTS) {
    signal.throwIfAborted();
    layouts.push({ ...layout, runs: await measured(layout) });
  }
  const result = { measuredOn: new Date().toISOString().slice(0, 10), scale, machine, settings, layouts };
  console.log(`\n${tableOf(layouts)}\n`);
  save(json ?? join(home, 'shards.json'), result);
  return layouts.some(({ runs: each }) => each.some(({ lost }) => lost > 0)) ? 1 : 0;

  /** A relay of its own for each: topics, group and cluster. */
  async function measured(layout) {
    const name = `shards-${layout.nodes}-${layout.shards}`;
    const cluster = await startCluster(join(own, name), layout, signal);
    ends.push(cluster.stop);
    const { REDIS_URL: _, ...env } = {
      ...stack.env,
      KAFKA_TOPIC_PREFIX: `${name}.`,
      KAFKA_CONSUMER_GROUP: name,
      REDIS_CLUSTER_NODES: Object.values(cluster.ports)
        .map((port) => `127.0.0.1:${port}`)
        .join(),
      REDIS_SHARDS: String(layout.shards),
    };
    const { kafka } = stack.pids;
    const pids = { kafka, ...cluster.pids };
    const clients = await withClients(stack.tree, env, signal);
    const system = { stack: { ...stack, env, pids, ...clients }, tools, signal, ends };
    const found = await withRoles(system, (relay) => played(relay, layout, cluster));
    ends.splice(ends.indexOf(cluster.stop), 1);
    await cluster.stop();
    return found;
  }

  async function played(relay, layout, cluster) {
    const unregister = await register(relay.stack, [url]);
    // The scenarios' own figures of Redis are those of one server.
    const bare = { ...relay, stack: undefined };
    await runOnce(bare, 1, scaled(WARM_UP, scale));
    const found = [];
    for (let run = 0; run < runs; run += 1) {
      await quiet(relay.pids);
      const before = await workOf(cluster);
      const { accepted, cpu, lost, repeats, figures } = await runOnce(bare, 1, scaled(LOAD, scale));
      const after = await workOf(cluster);
      const byNode = Object.keys(cluster.pids).map((node) => cpu[node]);
      found.push({
        accepted,
        lost,
        repeats,
        perSecond: figures.deliveriesPerSecond,
        redis: byNode.reduce((sum, ms) => sum + ms, 0),
        fullest: Math.max(...byNode),
        byNode,
        worker: cpu.worker,
        ingress: cpu.ingress,
        commands: (after.commands - before.commands) / accepted,
        bytes: (after.bytes - before.bytes) / accepted,
      });
      console.log(`${titleOf(layout)} ${run + 1}/${runs}  ${lineOf(found.at(-1))}`);
    }
    await unregister();
    return found;
  }
}

async function workOf({ ports }) {
  const of = async (section, field) => {
    const all = Object.values(ports).map((redisPort) => redisInfo({ redisPort }, section, field));
    return (await Promise.all(all)).reduce((sum, value) => sum + Number(value), 0);
  };
  return {
    commands: await of('stats', 'total_commands_processed'),
    bytes: await of('persistence', 'aof_current_size'),
  };
}

const titleOf = ({ nodes, shards: count }) => `${count} of ${nodes}`;

const lineOf = ({ perSecond, redis, byNode, worker, ingress, commands, bytes, lost, repeats }) =>
  [
    `${perSecond.toFixed(0)} /s`,
    `CPU of Redis for each ${redis.toFixed(3)} ms (${byNode.map((ms) => ms.toFixed(3)).join(' + ')})`,
    `worker ${worker.toFixed(3)} ms`,
    `ingress ${ingress.toFixed(3)} ms`,
    `commands ${commands.toFixed(1)}`,
    `bytes ${bytes.toFixed(0)}`,
    `lost ${lost}`,
    `twice ${repeats}`,
  ].join(', ');

/** What the fullest node carries is derived: a second of its core by its share of a delivery. */
function tableOf(layouts) {
  const range = (runs, of, digits) => {
    const { min, median, max } = spread(runs.map(of));
    return [min, median, max].map((value) => value.toFixed(digits)).join(' / ');
  };
  const rows = layouts.map(({ nodes, shards: count, runs }) =>
    [
      nodes,
      count,
      range(runs, ({ redis }) => redis, 3),
      range(runs, ({ fullest }) => fullest, 3),
      Math.round(1_000 / spread(runs.map(({ fullest }) => fullest)).median).toLocaleString('en-US'),
      range(runs, ({ worker }) => worker, 3),
      range(runs, ({ commands }) => commands, 1),
      range(runs, ({ bytes }) => bytes, 0),
    ].join(' | '),
  );
  return [
    '| nodes | shards | CPU of Redis for a delivery, ms | of the fullest node | a second of its core carries | CPU of the worker, ms | commands | bytes of the file |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows.map((row) => `| ${row} |`),
  ].join('\n');
}
