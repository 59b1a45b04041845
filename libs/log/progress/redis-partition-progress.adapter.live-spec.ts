import { RedisSeenStore } from '@relay/dedupe';
import { NOTICE_LINES, oneShard, onlyShard } from '@relay/redis';
import { describePartitionProgress, moveSeenClock, redisOfSpec } from '@relay/testing';
import { recoveryKey } from './progress-keys.js';
import { RedisPartitionProgress } from './redis-partition-progress.adapter.js';

const { redis } = await redisOfSpec();

const TAKE = { take: true };
const WINDOW_MS = 72 * 3_600_000;
const at = { topic: 'task.created', partition: 0 };
const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const entry = (n: number, hash = 'aaaaaaaaaaaaaaaa') => ({ id: id(n), hash });
const flushOf = (token: string, from: [number, number], to: [number, number]) => ({
  token,
  confirmed: { highWater: from[0], sequence: from[1] },
  next: { highWater: to[0], sequence: to[1] },
  settled: [],
  partial: [],
  whole: [],
});

describe('progress in Redis', () => {
  let progress: RedisPartitionProgress;

  describePartitionProgress('RedisPartitionProgress', async () => {
    const seen = new RedisSeenStore(oneShard(redis), WINDOW_MS);
    return {
      progress: new RedisPartitionProgress(onlyShard(redis), WINDOW_MS),
      markPublished: (entries) => seen.markPublished(entries),
      setRegistryVersion: async (version) =>
        void (await redis.mset({ '{relay:0}:registry:version': version, '{relay:0}:registry:applied': version })),
    };
  });

  beforeEach(async () => {
    await redis.flushall();
    progress = new RedisPartitionProgress(onlyShard(redis), WINDOW_MS);
  });

  it('keeps the notice of a parked webhook in the step that parks it, due at once, and never without it', async () => {
    await progress.own(at, 'a', { ...TAKE, start: 0 });
    const parking = { changed: new Map([['w', [{ from: 0 }]]]), replays: new Map(), dropped: [], next: 1 };
    const line = `${Date.now()} {"type":"webhook.parked"}`;
    const write = { ...parking, keptFrom: 0, notices: [line] };
    expect(await progress.flush(at, { ...flushOf('b', [0, 1], [0, 2]), parking: write })).toBe(false);
    expect(await redis.exists(NOTICE_LINES)).toBe(0);
    expect(await progress.flush(at, { ...flushOf('a', [0, 1], [0, 2]), parking: write })).toBe(true);
    const [seconds = 0] = await redis.time();
    expect(await redis.zrangebyscore(NOTICE_LINES, '-inf', (seconds + 1) * 1_000)).toEqual([line]);
  });

  it('parks also where no notice can be kept', async () => {
    await redis.set(NOTICE_LINES, 'not what it should be');
    await progress.own(at, 'a', { ...TAKE, start: 0 });
    const parking = { changed: new Map([['w', [{ from: 0 }]]]), replays: new Map(), dropped: [], next: 1 };
    const write = { ...parking, keptFrom: 0, notices: [`${Date.now()} {}`] };
    expect(await progress.flush(at, { ...flushOf('a', [0, 1], [0, 2]), parking: write })).toBe(true);
    expect((await progress.parking(at)).ranges).toEqual(parking.changed);
  });

  it('lets only the recovery own and write partitions while it runs', async () => {
    await progress.own(at, 'worker', { ...TAKE, start: 5 });
    await redis.set(recoveryKey(onlyShard(redis)), 'recovery');
    expect(await progress.own(at, 'other', { ...TAKE, start: 9 })).toBeUndefined();
    expect(await progress.owners([at, { ...at, partition: 1 }])).toEqual(['worker', undefined]);
    expect(await progress.own(at, 'recovery', TAKE)).toEqual({ highWater: 5, sequence: 1 });
    expect([await progress.rememberKnown([at]), await progress.wasKnown()]).toEqual([false, false]);
    await progress.release(at, 'recovery');
    expect(await progress.own(at, 'worker', TAKE)).toBeUndefined();
    await redis.del(recoveryKey(onlyShard(redis)));
    expect(await progress.owners([at])).toEqual(['']);
    expect(await progress.own(at, 'worker', { take: false })).toEqual({ highWater: 5, sequence: 2 });
  });

  it('returns the results of each look-up of one turn of the event loop separately, in as few scripts as the number of ids allows', async () => {
    await progress.own(at, 'a', { ...TAKE, start: 0 });
    await progress.flush(at, { ...flushOf('a', [0, 1], [1, 2]), settled: [entry(1)] });
    await redis.mset({ '{relay:0}:registry:version': 7, '{relay:0}:registry:applied': 6 });
    await redis.config('RESETSTAT');
    const many = Array.from({ length: 390 }, (_, index) => entry(100 + index));
    const answers = await Promise.all([
      progress.lookUp(at, [entry(2), entry(1)]),
      progress.lookUp(at, []),
      progress.lookUp(at, [entry(3), entry(2), entry(1, 'bbbbbbbbbbbbbbbb')]),
      progress.lookUp(at, many),
      progress.lookUp(at, [entry(4)]),
    ]);
    expect(answers.slice(0, 3).map((answer) => answer.results)).toEqual([
      ['open', 'duplicate'],
      [],
      ['open', 'open', 'conflict'],
    ]);
    expect(answers[3]?.results).toEqual(many.map(() => 'open'));
    expect(answers.map((answer) => answer.registryVersion)).toEqual([7, 7, 7, 7, 7]);
    expect(await redis.info('commandstats')).toMatch(/cmdstat_evalsha:calls=1,/);
    await Promise.all([progress.lookUp(at, many), progress.lookUp(at, many)]);
    expect(await redis.info('commandstats')).toMatch(/cmdstat_evalsha:calls=3,/);
  });

  it('advances a mark in place, however old its generation is, and drops it with its generation', async () => {
    const seen = new RedisSeenStore(oneShard(redis), WINDOW_MS);
    await seen.markPublished([entry(1)]);
    await moveSeenClock(redis, 100 * 3_600);
    await seen.markPublished([entry(2)]);
    await progress.own(at, 'a', { ...TAKE, start: 0 });
    await progress.flush(at, { ...flushOf('a', [0, 1], [1, 2]), settled: [entry(1), entry(2)] });
    const generations = (await redis.keys('{relay:0}:seen:*')).map((key) => key.split(':')[3]);
    expect(new Set(generations)).toEqual(new Set(['1', '2']));
    expect((await progress.lookUp(at, [entry(1)])).results).toEqual(['duplicate']);
    await moveSeenClock(redis, 3_600);
    expect((await progress.lookUp(at, [entry(1), entry(2)])).results).toEqual(['open', 'duplicate']);
  });

  it('keeps partial marks until their envelope is whole', async () => {
    await progress.own(at, 'a', { ...TAKE, start: 0 });
    const partial = [{ id: id(1), webhookIds: ['w1', 'w2'] }];
    await progress.flush(at, { ...flushOf('a', [0, 1], [0, 2]), partial });
    expect((await progress.partials(at, [id(1), id(2)])).get(id(1))).toEqual(new Set(['w1', 'w2']));
    expect((await progress.partials(at, [id(2)])).get(id(2))).toEqual(new Set());
    await progress.flush(at, { ...flushOf('a', [0, 2], [1, 3]), whole: [id(1)] });
    expect(await redis.exists('{relay:0}:partial:task.created:0')).toBe(0);
  });
});
