import { ClusterServers, type ClusterServer } from '@relay/testing';
import type { FailoverRedis } from './failover-redis.js';
import type { Settings } from './stack.js';
import { until } from './until.js';

/** By docs/operations/install.md. */
const AS_RECOMMENDED = ['--appendfsync', 'always', '--cluster-require-full-coverage', 'no'];

/** A Redis Cluster of three primaries with a replica each. */
export class RedisCluster implements FailoverRedis {
  /**
   * @param shards number of shards of the relay; the primary is that of the second one, or of all keys where there is one
   * @param slot of that shard
   */
  private constructor(
    private readonly servers: ClusterServers,
    private readonly shards: number,
    private readonly slot: number,
  ) {}

  static async start(shards = 1): Promise<RedisCluster> {
    const servers = await ClusterServers.start(AS_RECOMMENDED);
    const tag = shards === 1 ? '{relay:0}' : `{relay:1/${shards}}`;
    const slot = (await servers.all[0]?.look.cluster('KEYSLOT', tag)) ?? 0;
    return new RedisCluster(servers, shards, slot);
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
    (await this.#primary()).server.process.kill('SIGKILL');
  }

  async freezePrimary(): Promise<() => void> {
    const { process } = (await this.#primary()).server;
    process.kill('SIGSTOP');
    return () => void process.kill('SIGCONT');
  }

  /** As before maintenance: the replica takes over when it has everything, and the old primary follows it. */
  async handOver(): Promise<void> {
    const before = await this.primaryPort();
    const { all } = this.servers;
    const at = all.findIndex(({ server }) => server.port === before);
    const replica = all[(at + all.length / 2) % all.length];
    await replica?.look.call('CLUSTER', 'FAILOVER');
    await until('the replica is the primary', async () => (await this.primaryPort().catch(() => before)) !== before);
  }

  async primaryPort(): Promise<number> {
    return (await this.#primary()).server.port;
  }

  close(): Promise<void> {
    return this.servers.close();
  }

  /** The node that serves the relay's keys, as a node of other slots sees it, which no test kills. */
  async #primary(): Promise<ClusterServer> {
    const { all } = this.servers;
    const serves = (line: string): boolean => {
      const [, , flags = '', , , , , , ...slots] = line.split(' ');
      const ranges = slots.map((text) => text.split('-').map(Number));
      return !/fail\b/.test(flags) && ranges.some(([from = 0, to = from]) => from <= this.slot && this.slot <= to);
    };
    const other = all[this.slot < 10_923 ? 2 : 0];
    const line =
      String(await other?.look.cluster('NODES'))
        .split('\n')
        .find(serves) ?? '';
    const port = Number(/:(\d+)@/.exec(line)?.[1]);
    const node = all.find(({ server }) => server.port === port);
    if (node === undefined) throw new Error(`no node serves slot ${this.slot}`);
    return node;
  }
}
