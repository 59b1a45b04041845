import { setTimeout as delay } from 'node:timers/promises';
import { shardNumber } from '@relay/redis';
import { RedisCluster, type ClusterNode } from '../../support/redis-cluster.js';
import { until } from '../../support/until.js';
import { isDelivering } from './recovery.js';
import type { Trial } from './trial.js';

/** The shard of a Redis Cluster that a fault strikes while those of the other nodes go on. */
export class StruckShard {
  /** When the fault struck, and when the shard delivered again, in milliseconds of `performance.now()`. */
  from = 0;
  to = Infinity;

  constructor(
    private readonly trial: Trial,
    readonly number: number,
    /** Its node has what is global too, so the others wait for it. */
    readonly stopsAll: boolean,
  ) {}

  get cluster(): RedisCluster {
    const { failover } = this.trial;
    if (!(failover instanceof RedisCluster)) throw new Error('this fault has no Redis Cluster');
    return failover;
  }

  get tag(): string {
    return `{relay:${this.number}/${this.trial.fault.redisShards}}`;
  }

  /** Whether an envelope belongs to it. */
  readonly has = (envelopeId: string): boolean =>
    shardNumber(envelopeId, this.trial.fault.redisShards ?? 1) === this.number;

  primary(): Promise<ClusterNode> {
    return this.cluster.primaryOf(this.tag);
  }

  /** It is struck now. @returns when */
  strikes(): number {
    this.from = performance.now();
    return this.from;
  }

  /** Waits until another node serves it. */
  async moved(from: ClusterNode): Promise<void> {
    await until('another node serves the shard', async () => (await this.primary().catch(() => from)) !== from);
  }

  /** It is back: waits for the first delivery of an envelope of it. */
  async returned(): Promise<void> {
    const at = performance.now();
    this.trial.returnedAt = at;
    const isBack = (): boolean => isDelivering(this.trial.endpoints, at, this.has);
    await this.trial.recovers('an envelope of the shard is delivered', isBack, at);
    this.to = performance.now();
  }

  /** Waits until so long after it was struck. */
  async until(ms: number): Promise<void> {
    await delay(Math.max(0, this.from + ms - performance.now()));
  }
}
