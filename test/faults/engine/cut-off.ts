import type { ClusterNode, RedisCluster } from '../../support/redis-cluster.js';
import { until } from '../../support/until.js';
import { Toxiproxy } from './toxiproxy.js';

/**
 * A primary of a Redis Cluster that the others, its replica and all clients reach through proxies, so that its network can be cut. Its
 * replica does not take its place.
 */
export class CutOff {
  private constructor(private readonly proxies: readonly Toxiproxy[]) {}

  /** Resolves when everybody knows the node by its proxies. */
  static async before(cluster: RedisCluster, node: ClusterNode): Promise<CutOff> {
    const [client, bus] = await Promise.all([Toxiproxy.before(node.port), Toxiproxy.before(node.bus)]);
    // The others may hold it for failed, and it them.
    await cluster.partnerOf(node).look.config('SET', 'cluster-replica-no-failover', 'yes');
    await node.look.config('SET', 'cluster-announce-port', client.port);
    await node.look.config('SET', 'cluster-announce-bus-port', bus.port);
    node.announced = client.port;
    await until('the nodes know the proxies', async () => {
      const told = await Promise.all(cluster.nodes.map(({ look }) => look.cluster('NODES')));
      return told.every((text) => String(text).includes(`:${client.port}@${bus.port}`));
    });
    await until('the replica follows through its proxy', async () => {
      const text = await cluster.partnerOf(node).look.info('replication');
      return text.includes(`master_port:${client.port}`) && text.includes('master_link_status:up');
    });
    return new CutOff([client, bus]);
  }

  /** Nothing more passes in connections that others have opened or open to it; they stay. */
  async cut(): Promise<void> {
    for (const proxy of this.proxies) {
      // A timeout of 0 drops everything and ends the connections only when it is taken away.
      await proxy.add('down', 'timeout', 'downstream', { timeout: 0 });
      await proxy.add('up', 'timeout', 'upstream', { timeout: 0 });
    }
  }

  /** Connections from before end, new ones pass. */
  async restore(): Promise<void> {
    for (const proxy of this.proxies) for (const name of ['up', 'down']) await proxy.remove(name);
  }

  async end(): Promise<void> {
    for (const proxy of this.proxies) await proxy.end();
  }
}
