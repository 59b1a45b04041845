import { RedisPartitionProgress } from '@relay/progress';
import { oneShard, shardsOn } from '@relay/redis';
import { redisOfSpec } from '@relay/testing';
import { Replays } from './replays.adapter.js';

const { redis } = await redisOfSpec();
const KEY = 'w/1000';
const ordered = { partnerId: 'p', eventType: 'task.created', since: undefined, until: undefined } as const;
const order = { id: 'one', webhookId: 'w', status: 'all', orderedBy: 'partner', ...ordered } as const;
const at = { topic: 'task.created', partition: 0 };
const ranges = [{ ...at, from: 3, end: 9 }];

/** How many commands Redis has run since the last call, scripts and what they call included. */
async function commands(): Promise<number> {
  const stats = await redis.info('commandstats');
  await redis.config('RESETSTAT');
  const counts = [...stats.matchAll(/cmdstat_([^:]+):calls=(\d+)/g)].filter(
    ([, name]) => !/^(?:info|config)/.test(name!),
  );
  return counts.reduce((sum, [, , calls]) => sum + Number(calls), 0);
}

describe('the parts of a replay', () => {
  beforeEach(() => redis.flushall());

  it('cost nothing with one shard, whose flushes end a replay', async () => {
    const replays = new Replays(redis, oneShard(redis));
    await replays.create(order, ranges, 1);
    expect((await redis.keys('*parking*')).length).toBe(1);
    await commands();
    expect([await replays.ended(), await replays.endDone([KEY]), await replays.resumeEnded(KEY, 'one')]).toEqual([
      new Map(),
      undefined,
      false,
    ]);
    expect(await commands()).toBe(0);
  });

  it('with one shard are those of an order that an earlier version has stored', async () => {
    const facts = { ...order, since: '', until: '', matched: 6, key: KEY, createdAt: 1 };
    await redis.hset('{relay:0}:replay:one', facts);
    await redis.hset('{relay:0}:replays', KEY, 'one');
    for (const name of [`parked:${KEY}`, 'parking:task.created:0'])
      await redis.hset(`{relay:0}:${name}`, name.startsWith('parked') ? 'task.created/0' : KEY, '5-9|2|0');
    const replays = new Replays(redis, oneShard(redis));
    expect(await replays.find('one', 1_001)).toMatchObject({ state: 'running', matched: 6, done: 2 });
    expect(await replays.rangesOf(at, [...(await replays.orders()).keys])).toEqual(
      new Map([[KEY, { ranges: [{ from: 5, to: 9 }], counts: { done: 2, failed: 0 } }]]),
    );
  });

  it('are in the shards only as they were taken up there, and their order in the global slot', async () => {
    const shards = shardsOn(redis, 3);
    const replays = new Replays(redis, shards);
    await replays.create(order, ranges, 1);
    expect((await redis.keys('*')).filter((key) => !key.startsWith('{relay:0}:'))).toEqual([]);
    for (const shard of shards.all.slice(0, 2)) {
      const progress = new RedisPartitionProgress(shard, 3_600_000);
      await progress.own(at, 't', { take: true, start: 0 });
      const changed = new Map([[KEY, [{ from: 5, to: 9 }]]]);
      const counts = new Map([[KEY, { done: 2, failed: 1 }]]);
      await progress.flush(at, {
        token: 't',
        confirmed: { highWater: 0, sequence: 1 },
        next: { highWater: 0, sequence: 2 },
        settled: [],
        partial: [],
        whole: [],
        parking: { changed, replays: counts, dropped: [], keptFrom: undefined, next: 9 },
      });
    }
    expect((await redis.keys(`*:parked:${KEY}`)).toSorted()).toEqual([
      `{relay:0/3}:parked:${KEY}`,
      `{relay:0}:parked:${KEY}`,
      `{relay:1/3}:parked:${KEY}`,
    ]);
    // Two have 4 offsets left and one has 6, of which a third are its records: no more than was ordered.
    expect(await replays.find('one', 1_001)).toMatchObject({ state: 'running', matched: 6, done: 4, failed: 2 });
    expect(await replays.ordered('one', 1_001)).toMatchObject({ state: 'running', matched: 6, done: 0, failed: 0 });
  });

  it('end a replay with the last partition of the last shard, and not before', async () => {
    const shards = shardsOn(redis, 2);
    const replays = new Replays(redis, shards);
    await replays.create(order, [...ranges, { ...at, partition: 1, from: 0, end: 2 }], 1);
    for (const partition of [0, 1])
      for (const shard of shards.all) {
        await replays.endDone([KEY]);
        expect(await replays.idsUnderWay()).toEqual(['one']);
        await redis.hset(shard.key('parked', KEY), `task.created/${partition}`, '|1|0');
      }
    await replays.endDone([KEY]);
    expect(await replays.idsUnderWay()).toEqual([]);
  });

  it('refuse a shard that does not exist', async () => {
    const replays = new Replays(redis, shardsOn(redis, 3));
    await expect(replays.rangesOf({ ...at, shard: 3 }, [KEY])).rejects.toThrow('there is no shard 3 of task.created/0');
  });

  it('name at most the 200 replays that ended last, of one day', async () => {
    const replays = new Replays(redis, shardsOn(redis, 2));
    await redis.zadd('{relay:0}:replays:ended', Date.now() - 86_500_000, 'old a/1');
    for (let number = 1; number <= 201; number += 1)
      await redis.zadd('{relay:0}:replays:ended', Date.now() - 1_000_000 + number, `r${number} a/${number}`);
    await replays.create(order, ranges, 1);
    for (const shard of shardsOn(redis, 2).all) await redis.hset(shard.key('parked', KEY), 'task.created/0', '|6|0');
    await replays.endDone([KEY]);
    const ended = [...(await replays.ended()).values()];
    expect([ended.length, ended[0], ended.at(-1)]).toEqual([200, 'r3', 'one']);
  });
});
