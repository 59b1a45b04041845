import { TOKEN } from '@relay/doctor';
import { recoveryKey, RedisPartitionProgress } from '@relay/progress';
import { shardsOn } from '@relay/redis';
import { redisOfSpec } from '@relay/testing';
import { lostShards } from './recovery-log.adapter.js';

const { redis } = await redisOfSpec();
const WINDOW_MS = 3_600_000;
const events = [0, 1].map((partition) => ({ topic: 'task.created', partition, from: 0, end: 9, committed: 5 }));

describe.each([1, 3])('lostShards of %i shards', (count) => {
  const shards = shardsOn(redis, count);
  const last = count - 1;
  const found = async (from = events) =>
    (await lostShards(from, shards, WINDOW_MS)).map(({ number, lost, isBegun }) => [
      number,
      lost.map(({ partition }) => partition),
      isBegun,
    ]);
  beforeEach(async () => {
    await redis.flushall();
    for (const shard of shards.all)
      for (const at of events)
        await new RedisPartitionProgress(shard, WINDOW_MS).own(at, 'worker', { take: true, start: 0 });
  });
  const lose = async (): Promise<void> => {
    const tag = shards.all[last]?.tag ?? '';
    await redis.del(...(await redis.keys(`${tag}:*`)));
  };

  it('finds none while each shard knows its progress', async () => {
    expect(await found()).toEqual([]);
  });

  it('finds shards that know nothing of the records that were read, even if the group has committed nothing yet', async () => {
    await lose();
    expect(await found()).toEqual([[last, [0, 1], false]]);
    expect(await found(events.map((range) => ({ ...range, committed: -1 })))).toEqual([[last, [0, 1], false]]);
    expect(await found(events.map((range) => ({ ...range, committed: -1, end: 0 })))).toEqual([]);
  });

  it('finds shards whose recovery has begun, with the partitions that are left', async () => {
    await lose();
    const [shard, token] = [shards.all[last]!, `${TOKEN}one`];
    await redis.set(recoveryKey(shard), token);
    const progress = new RedisPartitionProgress(shard, WINDOW_MS);
    for (const at of events) await progress.own(at, token, { take: true, start: 0 });
    await progress.release(events[0]!, token);
    expect(await found()).toEqual([[last, [1], true]]);
    await progress.release(events[1]!, token);
    expect(await found()).toEqual([[last, [], true]]);
    await redis.del(recoveryKey(shard));
    expect(await found()).toEqual([]);
  });
});
