import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@relay/testing';
import { Redis } from 'ioredis';
import type { FailoverRedis } from './failover-redis.js';
import type { Settings } from './stack.js';
import { until } from './until.js';

const PASSWORD = 'of-the-cluster';
/** A node that does not answer for so long is down. */
const NODE_TIMEOUT_MS = 1_000;
const RANGES = ['0 5460', '5461 10922', '10923 16383'];

interface Node {
  port: number;
  /** Where the nodes talk to each other; ten thousand above `port` would be too high for some. */
  bus: number;
  process: ChildProcess;
  look: Redis;
}

/** A Redis Cluster of three primaries with a replica each. */
export class RedisCluster implements FailoverRedis {
  readonly #nodes: Node[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'relay-cluster-'));
  #slot = 0;

  /** @param shards number of shards of the relay; the primary is that of the second one, or of all keys where there is one */
  private constructor(private readonly shards: number) {}

  static async start(shards = 1): Promise<RedisCluster> {
    const started = new RedisCluster(shards);
    for (let n = 0; n < 2 * RANGES.length; n += 1) await started.#node();
    const [first] = started.#nodes;
    for (const { look } of started.#nodes) await until('a node answers', () => look.ping().catch(() => ''));
    for (const [n, range] of RANGES.entries())
      await started.#nodes[n]?.look.call('CLUSTER', 'ADDSLOTSRANGE', ...range.split(' '));
    for (const { port, bus } of started.#nodes.slice(1))
      await first?.look.call('CLUSTER', 'MEET', '127.0.0.1', String(port), String(bus));
    await until('the nodes know each other', async () => {
      const infos = await Promise.all(started.#nodes.map(({ look }) => look.cluster('INFO')));
      return infos.every((info) => info.includes(`cluster_known_nodes:${started.#nodes.length}`));
    });
    for (const n of RANGES.keys()) {
      const id = (await started.#nodes[n]?.look.cluster('MYID')) ?? '';
      const replica = started.#nodes[n + RANGES.length];
      await until('a replica knows its primary', () =>
        replica?.look.call('CLUSTER', 'REPLICATE', id).catch(() => undefined),
      );
    }
    await until('every node serves and every replica follows', async () => {
      const infos = await Promise.all(started.#nodes.map(({ look }) => look.cluster('INFO')));
      const roles = await Promise.all(started.#nodes.map(({ look }) => look.info('replication')));
      const following = roles.filter((role) => role.includes('master_link_status:up'));
      return infos.every((info) => info.includes('cluster_state:ok')) && following.length === RANGES.length;
    });
    started.#slot = (await first?.look.cluster('KEYSLOT', shards === 1 ? '{relay:0}' : `{relay:1/${shards}}`)) ?? 0;
    return started;
  }

  get settings(): Settings {
    return {
      REDIS_URL: '',
      REDIS_CLUSTER_NODES: this.#nodes.map(({ port }) => `127.0.0.1:${port}`).join(','),
      REDIS_PASSWORD: PASSWORD,
      REDIS_SHARDS: String(this.shards),
    };
  }

  async killPrimary(): Promise<void> {
    (await this.#primary()).process.kill('SIGKILL');
  }

  async freezePrimary(): Promise<() => void> {
    const { process } = await this.#primary();
    process.kill('SIGSTOP');
    return () => void process.kill('SIGCONT');
  }

  /** As before maintenance: the replica takes over when it has everything, and the old primary follows it. */
  async handOver(): Promise<void> {
    const before = await this.primaryPort();
    const at = this.#nodes.findIndex(({ port }) => port === before);
    const replica = this.#nodes[(at + RANGES.length) % this.#nodes.length];
    await replica?.look.call('CLUSTER', 'FAILOVER');
    await until('the replica is the primary', async () => (await this.primaryPort().catch(() => before)) !== before);
  }

  async primaryPort(): Promise<number> {
    return (await this.#primary()).port;
  }

  async close(): Promise<void> {
    for (const { look } of this.#nodes) look.disconnect();
    await Promise.all(
      this.#nodes.map(async ({ process }) => {
        if (process.exitCode !== null || process.signalCode !== null) return;
        const gone = once(process, 'exit');
        process.kill('SIGKILL');
        await gone;
      }),
    );
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The node that serves the relay's keys, as most primaries see it. */
  async #primary(): Promise<Node> {
    const serves = (line: string): boolean => {
      const [, , flags = '', , , , , , ...slots] = line.split(' ');
      const ranges = slots.map((text) => text.split('-').map(Number));
      return !/fail\b/.test(flags) && ranges.some(([from = 0, to = from]) => from <= this.#slot && this.#slot <= to);
    };
    // A node of another slot, which no test kills.
    const other = this.#nodes[RANGES.findIndex((range) => Number(range.split(' ')[0]) > this.#slot)] ?? this.#nodes[0];
    const line =
      String(await other?.look.cluster('NODES'))
        .split('\n')
        .find(serves) ?? '';
    const port = Number(/:(\d+)@/.exec(line)?.[1]);
    const node = this.#nodes.find((one) => one.port === port);
    if (node === undefined) throw new Error(`no node serves slot ${this.#slot}`);
    return node;
  }

  async #node(): Promise<void> {
    const [port, bus] = [await freePort(), await freePort()];
    const dir = join(this.#folder, String(port));
    mkdirSync(dir);
    const options = {
      port,
      dir,
      bind: '127.0.0.1',
      'cluster-enabled': 'yes',
      'cluster-port': bus,
      'cluster-node-timeout': NODE_TIMEOUT_MS,
      appendonly: 'yes',
      'maxmemory-policy': 'noeviction',
      save: '',
      requirepass: PASSWORD,
      masterauth: PASSWORD,
    };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const process = spawn('redis-server', args, { stdio: 'ignore' });
    const look = new Redis(port, { password: PASSWORD });
    look.on('error', () => undefined);
    this.#nodes.push({ port, bus, process, look });
  }
}
