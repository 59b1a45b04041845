import { knownKey, recoveryKey, RedisPartitionProgress } from '@relay/progress';
import { Shard, Shards, shardsOn } from '@relay/redis';
import { redisOfSpec } from '@relay/testing';
import { progressFindings } from './loss.adapter.js';

const { redis } = await redisOfSpec();

describe.each([1, 3])('the loss of one of %i shards', (count) => {
  const shards = shardsOn(redis, count);
  const partitions = [0, 1, 2].map((partition) => ({ topic: 'task.created', partition, committed: partition * 10 }));
  const last = count - 1;
  beforeEach(async () => {
    await redis.flushall();
    for (const shard of shards.all) {
      const progress = new RedisPartitionProgress(shard, 0);
      for (const at of partitions) await progress.own(at, 'worker', { start: at.committed, take: true });
    }
  });
  const texts = async (): Promise<string[]> =>
    (await progressFindings(shards, partitions)).map(({ state, text }) => `${state}: ${text}`);
  const lose = async (): Promise<void> => {
    const keys = await redis.keys(`${shards.all[last]?.tag}:progress:*`);
    expect(keys).toHaveLength(partitions.length);
    await redis.del(keys);
  };
  const who = count === 1 ? 'Redis' : `Shard ${last} of Redis ({relay:${last}/${count}})`;

  it('is a fault that names the shard, while the others know how far the log was read', async () => {
    expect(await texts()).toEqual(['ok: Redis knows how far the log was read']);
    await lose();
    expect(await texts()).toEqual([`fault: ${who} knows nothing of 3 partitions that were read before: it was lost`]);
  });

  it('is none where a copy that is older than the first record of a partition was restored', async () => {
    await lose();
    for (const shard of shards.all) await redis.set(knownKey(shard), '1');
    expect(await texts()).toEqual(['ok: Redis knows how far the log was read']);
  });

  it('is told until its recovery has ended', async () => {
    await lose();
    const [shard] = shards.all.slice(-1);
    if (shard === undefined) throw new Error('there is no shard');
    await redis.set(recoveryKey(shard), 'recovery-1');
    const progress = new RedisPartitionProgress(shard, 0);
    for (const at of partitions)
      await progress.own(at, 'recovery-1', { start: at.committed, take: true, claim: 'recovery-1' });
    expect(await texts()).toEqual([expect.stringContaining(`fault: ${who}`)]);
    for (const at of partitions) await progress.release(at, 'recovery-1');
    await redis.del(recoveryKey(shard));
    expect(await texts()).toEqual(['ok: Redis knows how far the log was read']);
  });

  it('is none where nothing was read yet', async () => {
    await redis.flushall();
    const unread = partitions.map(({ topic, partition }) => ({ topic, partition, committed: -1 }));
    expect((await progressFindings(shards, unread)).map(({ state }) => state)).toEqual(['ok']);
  });

  it('is not known of a shard that does not answer', async () => {
    const away = redis.duplicate({ lazyConnect: true, enableOfflineQueue: false });
    const [first, ...others] = shards.all.map(({ tag }, number) => new Shard(number === 0 ? away : redis, tag));
    const found = progressFindings(new Shards(first === undefined ? [] : [first, ...others]), partitions);
    if (count === 1) return expect(found).rejects.toThrow("Stream isn't writeable");
    const text = `Shard 0 of Redis ({relay:0/${count}}) does not answer: whether it was lost is not known`;
    expect(await found).toEqual([expect.objectContaining({ state: 'warning', text })]);
  });
});
