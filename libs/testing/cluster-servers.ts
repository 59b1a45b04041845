import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from './free-port.js';
import { startRedisServer, type RedisServer } from './redis-server.js';

const PASSWORD = 'of-the-cluster';
/** A node that does not answer for so long is down. */
const NODE_TIMEOUT_MS = 1_000;
const RANGES = ['0 5460', '5461 10922', '10923 16383'];
const PATIENCE_MS = 120_000;

/** A node of a cluster, and a connection to it. */
export interface ClusterServer {
  /** Another one after a restart. */
  server: RedisServer;
  /** 127.0.0.1 and its port. */
  readonly name: string;
  /** Port of the cluster bus. The default, 10,000 above the port, exceeds the highest port for some. */
  readonly bus: number;
  readonly look: Redis;
}

/** The six servers of a Redis Cluster: three primaries, then a replica of each. */
export class ClusterServers {
  readonly password = PASSWORD;
  readonly all: ClusterServer[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'relay-cluster-'));

  private constructor(private readonly options: readonly string[]) {}

  /** @param options of each server, such as `--appendfsync always` as two strings */
  static async start(options: readonly string[] = []): Promise<ClusterServers> {
    const started = new ClusterServers(options);
    const { all } = started;
    while (all.length < 2 * RANGES.length) await started.#add();
    const [first] = all;
    for (const [n, range] of RANGES.entries()) await all[n]?.look.call('CLUSTER', 'ADDSLOTSRANGE', ...range.split(' '));
    for (const { server, bus } of all.slice(1))
      await first?.look.call('CLUSTER', 'MEET', '127.0.0.1', String(server.port), String(bus));
    await eventually('the nodes know each other', async () =>
      (await started.infos()).every((info) => info.includes(`cluster_known_nodes:${all.length}`)),
    );
    for (const n of RANGES.keys()) {
      const id = (await all[n]?.look.cluster('MYID')) ?? '';
      await eventually('a replica knows its primary', () =>
        all[n + RANGES.length]?.look.call('CLUSTER', 'REPLICATE', id).catch(() => undefined),
      );
    }
    await eventually('every node serves and every replica follows', () => started.isWhole());
    return started;
  }

  /** For REDIS_CLUSTER_NODES. */
  get names(): string[] {
    return this.all.map(({ name }) => name);
  }

  /** Answers of each node about the cluster. */
  infos(): Promise<string[]> {
    return Promise.all(this.all.map(({ look }) => look.cluster('INFO')));
  }

  /** Whether every node serves and every replica follows. */
  async isWhole(): Promise<boolean> {
    const infos = await this.infos();
    const roles = await Promise.all(this.all.map(({ look }) => look.info('replication')));
    const following = roles.filter((role) => role.includes('master_link_status:up'));
    // The primary may not have heard yet that its replica has all of its data.
    const followed = roles.filter((role) => role.includes('state=online'));
    const isEach = [following, followed].every(({ length }) => length === RANGES.length);
    return isEach && infos.every((info) => info.includes('cluster_state:ok'));
  }

  /** Starts a node again that was killed, with its data. */
  async restart(node: ClusterServer): Promise<void> {
    await node.server.stop();
    node.server = await this.#serve(node.server.port, node.bus);
  }

  async close(): Promise<void> {
    for (const { look } of this.all) look.disconnect();
    await Promise.all(this.all.map(({ server }) => server.stop()));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #add(): Promise<void> {
    const [port, bus] = [await freePort(), await freePort()];
    mkdirSync(this.#folderOf(port));
    const server = await this.#serve(port, bus);
    const look = new Redis(port, { password: PASSWORD });
    look.on('error', () => undefined);
    this.all.push({ server, name: `127.0.0.1:${port}`, bus, look });
  }

  #serve(port: number, bus: number): Promise<RedisServer> {
    const own = {
      'cluster-enabled': 'yes',
      'cluster-port': bus,
      'cluster-node-timeout': NODE_TIMEOUT_MS,
      appendfsync: 'everysec',
      'maxmemory-policy': 'noeviction',
      requirepass: PASSWORD,
      masterauth: PASSWORD,
    };
    const args = Object.entries(own).flatMap(([name, value]) => [`--${name}`, String(value)]);
    return startRedisServer(port, this.#folderOf(port), [...args, ...this.options]);
  }

  #folderOf(port: number): string {
    return join(this.#folder, String(port));
  }
}

async function eventually(what: string, condition: () => unknown): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited ${PATIENCE_MS} ms in vain until ${what}`);
    await delay(50);
  }
}
