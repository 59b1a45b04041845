import { onlyShard, shardsOn } from '@relay/redis';
import { redisOfSpec } from '@relay/testing';
import { assertNumberOfShards, RESHARDING } from './progress-keys.js';
import { RedisPartitionProgress } from './redis-partition-progress.adapter.js';

const { redis } = await redisOfSpec();

const topics = ['task.created', 'tax_return.filed'];
const assert = (count: number): Promise<void> => assertNumberOfShards(redis, count, topics);

describe('the number of shards', () => {
  beforeEach(() => redis.flushall());

  it('is that of the first process, and 1 where nothing says another', async () => {
    await assert(1);
    expect(await redis.keys('*')).toEqual([]);
    await assert(3);
    await assert(3);
    await expect(assert(1)).rejects.toThrow(
      'The state in Redis is divided into 3 shards, and REDIS_SHARDS is 1: set REDIS_SHARDS=3',
    );
    await expect(assert(16)).rejects.toThrow('set REDIS_SHARDS=3');
  });

  it('is 1 where a worker has read with one', async () => {
    const [shard = onlyShard(redis)] = shardsOn(redis, 1).all;
    const progress = new RedisPartitionProgress(shard, 60_000);
    await progress.own({ topic: 'tax_return.filed', partition: 0 }, 'a', { take: true });
    await expect(assert(3)).rejects.toThrow('set REDIS_SHARDS=1');
    await assert(1);
  });

  it('lets no role start while it is being changed', async () => {
    await redis.set(RESHARDING, 'a', 'PX', 60_000);
    await expect(assert(1)).rejects.toThrow('A `relay reshard` is changing the number of shards');
    await redis.del(RESHARDING);
    await assert(1);
  });

  it('is one number for processes that start at once', async () => {
    const ended = await Promise.allSettled([3, 3, 16, 3].map(assert));
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['fulfilled', 'rejected']));
    const stored = Number(await redis.get('{relay:0}:shards'));
    expect(ended.map(({ status }, index) => status === 'fulfilled' && [3, 3, 16, 3][index]).filter(Boolean)).toEqual(
      [3, 3, 16, 3].filter((count) => count === stored),
    );
  });
});
