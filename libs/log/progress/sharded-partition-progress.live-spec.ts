import { randomUUID } from 'node:crypto';
import { RedisSeenStore } from '@relay/dedupe';
import { onlyShard, shardNumber, shardsOn } from '@relay/redis';
import { describePartitionProgress, redisOfSpec } from '@relay/testing';
import { RedisPartitionProgress, ShardedPartitionProgress } from './redis-partition-progress.adapter.js';

const { redis } = await redisOfSpec();

const WINDOW_MS = 72 * 3_600_000;
const shards = shardsOn(redis, 3);
const at = { topic: 'task.created', partition: 0 };
const flushOf = (token: string, from: number, to: number) => ({
  token,
  confirmed: { highWater: from, sequence: from + 1 },
  next: { highWater: to, sequence: to + 1 },
  settled: [],
  partial: [],
  whole: [],
});

function idOf(shard: number): string {
  for (;;) {
    const id = randomUUID();
    if (shardNumber(id, 3) === shard) return id;
  }
}

const setVersion = async (version: number): Promise<void> =>
  void (await redis.mset({ '{relay:0}:registry:version': version, '{relay:0}:registry:applied': version }));
const open = (agreed: (shard: number) => Promise<void> = async () => undefined) =>
  new ShardedPartitionProgress(shards, redis, WINDOW_MS, agreed);

beforeAll(() => redis.flushall());

describePartitionProgress('ShardedPartitionProgress', async () => {
  const seen = new RedisSeenStore(shards, WINDOW_MS);
  return {
    progress: open(),
    shard: { number: 2, newId: () => idOf(2) },
    markPublished: (entries) => seen.markPublished(entries),
    setRegistryVersion: setVersion,
  };
});

describe('progress over three shards', () => {
  let progress: ShardedPartitionProgress;
  const ownAll = async (): Promise<void> => {
    for (const shard of [0, 1, 2]) await progress.own({ ...at, shard }, 'a', { take: true, start: 0 });
  };
  beforeEach(async () => {
    await redis.flushall();
    progress = open();
  });

  it('is one of its own in each, so that one goes back without the others', async () => {
    await ownAll();
    for (const shard of [0, 1, 2]) {
      const mark = { id: idOf(shard), hash: 'aaaaaaaaaaaaaaaa' };
      expect(await progress.flush({ ...at, shard }, { ...flushOf('a', 0, 5 + shard), settled: [mark] })).toBe(true);
      expect((await progress.lookUp({ ...at, shard }, [mark])).results).toEqual(['duplicate']);
    }
    // As after a restart without its file.
    for (const key of await redis.keys('{relay:1/3}:*')) await redis.del(key);
    const found = await Promise.all([0, 1, 2].map((shard) => progress.own({ ...at, shard }, 'b', { take: true })));
    expect(found.map((one) => (typeof one === 'object' ? one.highWater : one))).toEqual([5, undefined, 7]);
  });

  it('has no key of a deployment with one shard, and none outside a hash tag', async () => {
    await ownAll();
    const keys = await redis.keys('*');
    expect(keys.length).toBeGreaterThan(0);
    expect(keys.filter((key) => !/^\{relay:[012]\/3\}:/.test(key))).toEqual([]);
    const single = new RedisPartitionProgress(onlyShard(redis), WINDOW_MS);
    expect(await single.own(at, 'a', { take: true })).toBeUndefined();
  });

  it('tells the version of the registry with every look-up, asked once for all of one turn', async () => {
    await setVersion(7);
    await redis.config('RESETSTAT');
    const looks = [0, 1, 2].map((shard) => progress.lookUp({ ...at, shard }, []));
    expect((await Promise.all(looks)).map(({ registryVersion }) => registryVersion)).toEqual([7, 7, 7]);
    expect(await redis.info('commandstats')).toMatch(/cmdstat_mget:calls=1,/);
  });

  it('keeps the notice of a parked webhook in the shard of its range', async () => {
    await ownAll();
    const line = `${Date.now()} {"type":"webhook.parked"}`;
    const parking = {
      changed: new Map([['w', [{ from: 0 }]]]),
      replays: new Map(),
      dropped: [],
      next: 1,
      keptFrom: 0,
      notices: [line],
    };
    expect(await progress.flush({ ...at, shard: 1 }, { ...flushOf('a', 0, 0), parking })).toBe(true);
    expect(await redis.zrange('{relay:1/3}:notices', '0', '-1')).toEqual([line]);
  });

  it('owns nothing of a shard whose jobs are on another server, and the others all the same', async () => {
    progress = open(async (shard) => {
      if (shard === 1) throw new Error('two servers');
    });
    const owning = [0, 1, 2].map((shard) => progress.own({ ...at, shard }, 'a', { take: true, start: 0 }));
    const ended = await Promise.allSettled(owning);
    expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('refuses a partition that names no shard of it', async () => {
    expect(() => progress.own({ ...at, shard: 3 }, 'a', { take: true })).toThrow(RangeError);
  });
});
