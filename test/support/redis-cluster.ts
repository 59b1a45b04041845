import type { ChildProcess } from 'node:child_process';
import { ClusterServers } from '@relay/testing';
import type { Redis } from 'ioredis';
import type { FailoverRedis } from './failover-redis.js';
import type { Settings } from './stack.js';
import { until } from './until.js';

/** By docs/operations/install.md. */
const AS_RECOMMENDED = ['--appendfsync', 'always', '--cluster-require-full-coverage', 'no'];

export interface ClusterNode {
  readonly port: number;
  /** Where the nodes talk to each other. */
  readonly bus: number;
  readonly process: ChildProcess;
  /** Leads to this node, by its own port. */
  readonly look: Redis;
  /** The port by which the others know it. */
  announced: number;
  /** It does not answer for now, so nothing is asked of it. */
  isAway: boolean;
}

/** A Redis Cluster of three primaries with a replica each. */
export class RedisCluster implements FailoverRedis {
  readonly nodes: readonly ClusterNode[];

  /** @param shards number of shards of the relay; the primary is that of the second one, or of all keys where there is one */
  private constructor(
    private readonly servers: ClusterServers,
    private readonly shards: number,
  ) {
    this.nodes = servers.all.map(({ server: { port, process }, bus, look }) => {
      return { port, bus, process, look, announced: port, isAway: false };
    });
  }

  static async start(shards = 1): Promise<RedisCluster> {
    return new RedisCluster(await ClusterServers.start(AS_RECOMMENDED), shards);
  }

  get settings(): Settings {
    return {
      REDIS_URL: '',
      REDIS_CLUSTER_NODES: this.servers.names.join(','),
      REDIS_PASSWORD: this.servers.password,
      REDIS_SHARDS: String(this.shards),
    };
  }

  async killPrimary(): Promise<void> {
    this.kill(await this.#primary());
  }

  async freezePrimary(): Promise<() => void> {
    return this.freeze(await this.#primary());
  }

  kill(node: ClusterNode): void {
    node.isAway = true;
    node.process.kill('SIGKILL');
  }

  freeze(node: ClusterNode): () => void {
    node.isAway = true;
    node.process.kill('SIGSTOP');
    return () => {
      node.process.kill('SIGCONT');
      node.isAway = false;
    };
  }

  async handOver(): Promise<void> {
    const before = await this.#primary();
    await this.partnerOf(before).look.call('CLUSTER', 'FAILOVER');
    await until('the replica is the primary', async () => (await this.#primary().catch(() => before)) !== before);
    await until('the old primary knows', async () => (await before.look.info('replication')).includes('role:slave'));
  }

  async primaryPort(): Promise<number> {
    return (await this.#primary()).port;
  }

  #primary(): Promise<ClusterNode> {
    return this.primaryOf(this.shards === 1 ? '{relay:0}' : `{relay:1/${this.shards}}`);
  }

  /** The node that serves the keys of a hash tag, by the latest claim: one that was cut off still takes itself for it. */
  async primaryOf(tag: string): Promise<ClusterNode> {
    const asked = this.nodes.filter(({ isAway }) => !isAway);
    const slot = (await asked[0]?.look.cluster('KEYSLOT', tag)) ?? 0;
    const answers = await Promise.all(asked.map(({ look }) => look.cluster('NODES')));
    const claims = answers.flatMap((answer) => String(answer).split('\n')).filter((line) => isClaim(line, slot));
    const [latest = ''] = claims.toSorted((one, other) => epochOf(other) - epochOf(one));
    const port = Number(/:(\d+)@/.exec(latest)?.[1]);
    const node = this.nodes.find(({ announced }) => announced === port);
    if (node === undefined) throw new Error(`no node serves slot ${slot}`);
    return node;
  }

  /** The replica of a primary, and the other way round. */
  partnerOf(node: ClusterNode): ClusterNode {
    const at = this.nodes.indexOf(node);
    return this.nodes[(at + this.nodes.length / 2) % this.nodes.length] as ClusterNode;
  }

  close(): Promise<void> {
    return this.servers.close();
  }
}

/** Whether a line of `CLUSTER NODES` says that its node, which has not failed, serves a slot. */
function isClaim(line: string, slot: number): boolean {
  const [, , flags = '', , , , , , ...slots] = line.split(' ');
  const ranges = slots.filter((text) => !text.startsWith('[')).map((text) => text.split('-').map(Number));
  return !/fail\b/.test(flags) && ranges.some(([from = 0, to = from]) => from <= slot && slot <= to);
}

const epochOf = (line: string): number => Number(line.split(' ')[6]);
