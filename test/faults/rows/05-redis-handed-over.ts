import { AddressedRedis } from '../../support/addressed-redis.js';
import { SentinelRedis } from '../../support/sentinel.js';
import type { Fault } from '../engine/fault.js';

const TIMES = 2;

function handedOver(name: string, does: string, way: Pick<Fault, 'redis' | 'redisShards'>): Fault {
  return {
    row: 5,
    name,
    does: `${does}, twice under load`,
    duplicates: 'running',
    ...way,
    run: async (trial) => {
      for (let time = 0; time < TIMES; time += 1) {
        await trial.anyMoment();
        // The replica may lack the last moment of what the old primary took.
        const since = performance.now();
        await trial.failover.handOver();
        await trial.returned();
        trial.wentBack(since);
        await trial.load.more(200);
      }
    },
  };
}

export const faults: readonly Fault[] = [
  handedOver(
    'redis-handed-over-behind-address',
    'behind one address the replica becomes the primary and the primary its replica, and all connections stay open',
    { redis: () => AddressedRedis.start() },
  ),
  handedOver('redis-handed-over-by-sentinels', '`SENTINEL FAILOVER`: the primary and its replica change places', {
    redis: () => SentinelRedis.start(),
  }),
  handedOver('redis-handed-over-in-cluster', '`CLUSTER FAILOVER`: a primary and its replica change places', {
    redisShards: 3,
  }),
];
