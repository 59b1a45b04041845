import { connectRedis, connectShards, type Shards, shardsOn } from '@relay/redis';
import { Redis } from 'ioredis';
import { RedisCluster } from './redis-cluster.js';
import type { Settings } from './stack.js';

/** What one spec file has of Redis, for itself. */
export abstract class RedisCorner {
  protected constructor(
    /** Where it is, for the processes of a relay. */
    readonly settings: Settings,
    readonly shards: Shards,
  ) {
    // A spec may kill this Redis: its commands fail then, which is told enough.
    for (const redis of shards.connections) redis.on('error', () => undefined);
  }

  /**
   * A database of the given server; with `REDIS_KIND=cluster` a cluster of its own, unless the spec has a Redis of its own.
   * @param given settings of that server
   * @param wanted those of the spec
   */
  static async open(given: Settings, wanted: Settings, isOwn: boolean): Promise<RedisCorner> {
    const count = Number(wanted['REDIS_SHARDS'] || process.env['REDIS_SHARDS'] || 1);
    const isCluster = process.env['REDIS_KIND'] === 'cluster' && !isOwn && wanted['REDIS_URL'] === undefined;
    const corner = await (isCluster
      ? ClusterCorner.start(count)
      : DatabaseCorner.claim(given['REDIS_URL'] ?? '', count));
    await corner.empty(); // a spec that was killed may have left its data
    return corner;
  }

  /** As when Redis has lost all of its data. */
  async empty(): Promise<void> {
    await Promise.all(this.shards.connections.map((redis) => redis.flushdb()));
  }

  /** Lets go of a server that is about to end. */
  abandon(): void {
    for (const redis of this.shards.connections) redis.disconnect();
  }

  /** @throws Error when a key is in no slot of the relay: it would be on another node of a cluster than what belongs to it */
  async close(): Promise<void> {
    const keys = await Promise.all(this.shards.connections.map((redis) => redis.keys('*')));
    await this.release();
    this.abandon();
    const outside = keys.flat().filter((key) => !HASH_TAG.test(key));
    if (outside.length > 0) throw new Error(`keys in no slot of the relay: ${outside.join(', ')}`);
  }

  protected abstract release(): Promise<void>;
}

/** With which every key of the relay begins: of what is global and of a single shard, or of one of several. */
const HASH_TAG = /^\{relay:(?:0|\d+\/\d+)\}:/;

/** Redis has 16 databases by default; number 0 holds their users, so that spec files can run side by side. */
class DatabaseCorner extends RedisCorner {
  private constructor(
    url: string,
    private readonly database: number,
    private readonly claims: Redis,
    count: number,
  ) {
    super({ REDIS_URL: `${url}/${database}` }, shardsOn(new Redis(`${url}/${database}`), count));
    claims.on('error', () => undefined);
  }

  static async claim(url: string, count: number): Promise<RedisCorner> {
    const claims = new Redis(`${url}/0`);
    for (let database = 1; database < 16; database += 1)
      if ((await claims.set(claimOf(database), process.pid, 'EX', 900, 'NX')) === 'OK')
        return new DatabaseCorner(url, database, claims, count);
    claims.disconnect();
    throw new Error('every Redis database is claimed by a spec that runs or was killed');
  }

  override abandon(): void {
    super.abandon();
    this.claims.disconnect();
  }

  protected async release(): Promise<void> {
    await this.empty();
    await this.claims.del(claimOf(this.database));
  }
}

const claimOf = (database: number): string => `e2e:database:${database}`;

class ClusterCorner extends RedisCorner {
  private constructor(
    private readonly cluster: RedisCluster,
    shards: Shards,
  ) {
    super(cluster.settings, shards);
  }

  static async start(count: number): Promise<RedisCorner> {
    const cluster = await RedisCluster.start(count);
    const { REDIS_CLUSTER_NODES: nodes = '', REDIS_PASSWORD } = cluster.settings;
    const place = { REDIS_CLUSTER_NODES: nodes.split(','), REDIS_PASSWORD, REDIS_SHARDS: count };
    const settings = { ...place, REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '' };
    const redis = connectRedis(settings, 'queue', () => undefined);
    return new ClusterCorner(
      cluster,
      connectShards(settings, 'queue', () => undefined, redis),
    );
  }

  protected release(): Promise<void> {
    return this.cluster.close();
  }
}
