// A Redis Cluster of primaries alone, whose slots are dealt so that each node has the same number of the relay's shards.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { choosePort } from '../lib/ports.mjs';
import { end, Fault, until } from '../lib/process.mjs';
import * as redis from '../lib/redis.mjs';

const SLOTS = 16_384;
const START_MS = 20_000;

/** @returns the ports and process ids by name, and how to end it */
export async function startCluster(home, { nodes, shards }, signal) {
  const { Redis } = await import('ioredis');
  const names = Array.from({ length: nodes }, (_, index) => `redis ${index + 1}`);
  const [ports, pids, clients] = [{}, {}, []];
  const stop = async () => {
    for (const client of clients) client.disconnect();
    for (const pid of Object.values(pids)) await end(pid, 5_000);
  };
  try {
    for (const name of names) {
      const folder = join(home, name);
      mkdirSync(folder, { recursive: true });
      ports[name] = Number(await choosePort({}, 'REDIS_PORT'));
      const bus = await choosePort({}, 'REDIS_PORT');
      const node = await redis.launch(folder, { port: ports[name] }, { 'cluster-enabled': 'yes', 'cluster-port': bus });
      pids[name] = node.pid;
      await until(() => redis.answers({ port: ports[name] }), START_MS, signal);
      const client = new Redis(ports[name]);
      client.on('error', () => undefined);
      clients.push(client);
      await clients[0].call('CLUSTER', 'MEET', '127.0.0.1', ports[name], bus);
    }
    const slots = await Promise.all(tagsOf(shards).map((tag) => clients[0].cluster('KEYSLOT', tag)));
    for (const [index, [from, to]] of rangesOf(slots, nodes).entries())
      await clients[index].call('CLUSTER', 'ADDSLOTSRANGE', from, to);
    const serves = async (client) => (await client.cluster('INFO')).includes('cluster_state:ok');
    const areReady = async () => (await Promise.all(clients.map(serves))).every(Boolean);
    if (!(await until(areReady, START_MS, signal))) throw new Fault('the nodes do not become a cluster');
    return { ports, pids, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** As in libs/redis: what is global is in a slot of its own where there are several shards. */
const tagsOf = (shards) =>
  shards === 1 ? ['{relay:0}'] : Array.from({ length: shards }, (_, number) => `{relay:${number}/${shards}}`);

/** For each node its first and last slot, with an equal number of shards between. */
function rangesOf(slots, nodes) {
  const sorted = slots.toSorted((one, other) => one - other);
  const starts = Array.from({ length: nodes }, (_, node) =>
    node === 0 ? 0 : sorted[Math.round((node * sorted.length) / nodes)],
  );
  return starts.map((from, node) => [from, (starts[node + 1] ?? SLOTS) - 1]);
}
