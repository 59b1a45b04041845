import { setTimeout as delay } from 'node:timers/promises';
import { connectRedis, redisReady, Shard, Shards, shardsOn } from '@relay/redis';
import { type NewReplay, ReplayService } from '@relay/replays';
import { redisOfSpec, startRedisServer } from '@relay/testing';
import { KEY, remembered, SpecWorker } from './spec-replay-worker.js';

const { redis } = await redisOfSpec();
const [NOW, RANGE] = [1_000, { from: 10, to: 14 }];
const at = { topic: 'task.created', partition: 3 };
const replay = (id: string): NewReplay => ({
  id,
  webhookId: 'w',
  partnerId: 'p',
  eventType: 'task.created',
  status: 'all',
  since: undefined,
  until: undefined,
  orderedBy: 'partner',
});
const ranges = [
  { ...at, from: 10, end: 14 },
  { ...at, partition: 4, from: 0, end: 2 },
];

beforeEach(() => redis.flushall());

describe.each([1, 3])('a replay over %i shards', (count) => {
  const shards = shardsOn(redis, count);
  const numbers = shards.all.map((_, number) => number);
  let worker: SpecWorker;
  beforeEach(async () => {
    worker = await new SpecWorker(redis, shards).start();
    await worker.replays.create(replay('one'), ranges, NOW);
  });

  it('is taken up by the owner of each part, ends once, and with the last of them', async () => {
    await worker.orders.look();
    expect(numbers.map((shard) => worker.part(shard).rest(KEY))).toEqual(numbers.map(() => RANGE));
    expect(await worker.status()).toEqual({ state: 'running', matched: 6, done: 0 });
    for (const shard of numbers) {
      await worker.orders.look();
      expect(await worker.status()).toMatchObject({ state: 'running' });
      await worker.deliver(shard);
    }
    for (let times = 0; times < 3; times += 1) await worker.orders.look();
    const ended = await worker.replays.find('one', NOW);
    expect(ended).toMatchObject({ state: 'done', matched: 6 * count, done: 6 * count, secondsLeft: 0 });
    expect([await worker.replays.idsUnderWay(), await redis.keys('*parking*')]).toEqual([[], []]);
    await (await new SpecWorker(redis, shards).start()).orders.look();
    expect(await worker.replays.find('one', NOW)).toEqual(ended);
  });

  it('goes on after a crash where each shard has written that it stands, and counts each delivery once', async () => {
    await worker.orders.look();
    const last = count - 1;
    worker.part(last).catchUp(KEY)?.begin(10)?.();
    await worker.flush();
    worker.part(last).catchUp(KEY)?.begin(11)?.();

    const next = await new SpecWorker(redis, shards).start();
    await next.orders.look();
    expect(numbers.map((shard) => next.part(shard).rest(KEY)?.from)).toEqual([...numbers.slice(1).map(() => 10), 11]);
    for (const shard of numbers) await next.deliver(shard);
    await next.orders.look();
    expect(await next.status()).toEqual({ state: 'done', matched: 6 * count, done: 6 * count });
  });

  it('is ended by another worker where that of its last flush was killed', async () => {
    await worker.orders.look();
    for (const shard of numbers) await worker.deliver(shard);
    const next = await new SpecWorker(redis, shards).start();
    await next.orders.look();
    expect(await next.status()).toMatchObject({ state: 'done', done: 6 * count });
  });

  it('is forgotten when it is cancelled, before a shard has taken it up and after', async () => {
    await worker.orders.look();
    worker.part(0).catchUp(KEY)?.begin(10)?.();
    await worker.flush();
    expect(await worker.replays.cancel('one', NOW)).toBe(true);
    await worker.orders.look();
    expect(numbers.map((shard) => worker.part(shard).replayKeys)).toEqual(numbers.map(() => []));
    await worker.flush();
    await (await new SpecWorker(redis, shards).start()).orders.look();
    expect([await worker.status(), await redis.keys('*parking*')]).toEqual([
      { state: 'cancelled', matched: 6, done: 1 },
      [],
    ]);
  });

  it('ends when its order has expired, and does not keep its webhook from another replay', async () => {
    await worker.orders.look();
    await worker.flush();
    await redis.del('{relay:0}:replay:one', `{relay:0}:parked:${KEY}`);
    for (const shard of numbers) await worker.deliver(shard);
    await worker.orders.look();
    expect([await worker.replays.idsUnderWay(), await worker.replays.create(replay('two'), ranges, NOW)]).toEqual([
      [],
      undefined,
    ]);
    expect(await redis.exists(`{relay:0}:parked:${KEY}`)).toBe(0);
  });
});

describe('a replay over shards of which one goes back in time', () => {
  const shards = shardsOn(redis, 3);
  let worker: SpecWorker;
  beforeEach(async () => {
    worker = await new SpecWorker(redis, shards).start();
  });
  const doneIn = async (...numbers: readonly number[]): Promise<void> => {
    for (const number of numbers) await worker.deliver(number);
    await worker.orders.look();
  };

  it('is taken up again by a shard that goes back behind the order, and by no other', async () => {
    const goBack = await remembered(redis, '{relay:1/3}:*');
    await worker.replays.create(replay('one'), ranges, NOW);
    await worker.orders.look();
    await doneIn(0, 1);
    await goBack();
    await worker.own();
    expect(worker.part(1).replayKeys).toEqual([]);
    await worker.orders.look();
    expect([0, 1, 2].map((shard) => worker.part(shard).rest(KEY))).toEqual([undefined, RANGE, RANGE]);
    await doneIn(1, 2);
    expect(await worker.status()).toEqual({ state: 'done', matched: 18, done: 18 });
  });

  it.each([
    ['behind its end', true],
    ['behind the order', false],
  ])('runs again when a shard goes back %s after it has ended, and ends again', async (_, isTakenUp) => {
    const before = await remembered(redis, '{relay:2/3}:*');
    await worker.replays.create(replay('one'), ranges, NOW);
    await worker.orders.look();
    worker.part(2).catchUp(KEY)?.begin(10)?.();
    await worker.flush();
    const goBack = isTakenUp ? await remembered(redis, '{relay:2/3}:*') : before;
    await doneIn(0, 1, 2);
    expect(await worker.status()).toMatchObject({ state: 'done' });
    await goBack();
    await worker.own();
    for (let looks = 0; looks < 10; looks += 1) await worker.orders.look();
    expect(await worker.status()).toMatchObject({ state: 'running' });
    expect([1, 2].map((shard) => worker.part(shard).rest(KEY))).toEqual([
      undefined,
      { ...RANGE, from: isTakenUp ? 11 : 10 },
    ]);
    await doneIn(2);
    expect(await worker.status()).toEqual({ state: 'done', matched: 18, done: 18 });
  });

  it('stays cancelled when a shard goes back behind that', async () => {
    await worker.replays.create(replay('one'), ranges, NOW);
    await worker.orders.look();
    worker.part(1).catchUp(KEY)?.begin(10)?.();
    await worker.flush();
    const goBack = await remembered(redis, '{relay:1/3}:*');
    await worker.replays.cancel('one', NOW);
    await worker.orders.look();
    await worker.flush();
    await goBack();
    await worker.own();
    expect(worker.part(1).replayKeys).toEqual([KEY]);
    await worker.orders.look();
    await worker.flush();
    expect([worker.part(1).replayKeys, await worker.replays.idsUnderWay()]).toEqual([[], []]);
  });

  it('does not run again because a former owner still holds a part that has ended', async () => {
    await worker.replays.create(replay('one'), ranges, NOW);
    await worker.orders.look();
    const next = await new SpecWorker(redis, shards).start();
    await next.orders.look();
    for (const shard of [0, 1, 2]) await next.deliver(shard);
    await next.orders.look();
    for (let looks = 0; looks < 10; looks += 1) await worker.orders.look();
    expect(await next.status()).toMatchObject({ state: 'done' });
  });

  it('ends again where what is global went back behind its end', async () => {
    await worker.replays.create(replay('one'), ranges, NOW);
    await worker.orders.look();
    const goBack = await remembered(redis, '{relay:0}:*');
    await doneIn(0, 1, 2);
    await goBack();
    expect(await worker.status()).toMatchObject({ state: 'running' });
    await worker.orders.look();
    expect(await worker.status()).toEqual({ state: 'done', matched: 18, done: 18 });
  });

  it('is forgotten where what is global went back behind the order', async () => {
    const goBack = await remembered(redis, '{relay:0}:*');
    await worker.replays.create(replay('one'), ranges, NOW);
    await worker.orders.look();
    worker.part(1).catchUp(KEY)?.begin(10)?.();
    await worker.flush();
    await goBack();
    await worker.orders.look();
    await worker.flush();
    expect([worker.part(1).replayKeys, await redis.keys('*parking*')]).toEqual([[], []]);
  });

  it('leaves nothing behind but the newest of its webhook, and what it has in shards expires', async () => {
    for (let number = 0; number < 30; number += 1) {
      await worker.replays.create(replay(`r${number}`), ranges, NOW);
      await worker.orders.look();
      await worker.replays.cancel(`r${number}`, NOW);
      await worker.orders.look();
      await worker.flush();
    }
    const kept = await redis.keys('{relay:?/3}:parked:*');
    expect(kept.length).toBe(3 * 20);
    const lifetimes = await Promise.all(kept.map((key) => redis.ttl(key)));
    expect(lifetimes.filter((seconds) => seconds < 1)).toEqual([]);
  });
});

it('is ordered while a shard is away, delivered by the others, and ends once that has done its part', async () => {
  const settings = { REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '' };
  let server = await startRedisServer();
  const last = connectRedis({ ...settings, REDIS_URL: server.url() }, 'command', () => undefined);
  await redisReady(last, () => undefined);
  const tags = ['{relay:0/3}', '{relay:1/3}', '{relay:2/3}'];
  const shards = new Shards(tags.map((tag, number) => new Shard(number === 2 ? last : redis, tag)));
  try {
    const worker = await new SpecWorker(redis, shards).start();
    const goBack = await remembered(last, '*');
    await server.stop();
    while (last.status === 'ready') await delay(20);
    const service = new ReplayService({
      replays: worker.replays,
      ranges: async () => ranges,
      letters: async () => 0,
      audit: { report: async () => undefined },
      newId: () => 'one',
      now: () => NOW,
    });
    const target = { webhookId: 'w', partnerId: 'p', eventType: 'task.created', status: 'all' } as const;
    const order = await service.order(target, { since: undefined, until: undefined }, { partnerId: 'p' });
    expect(order).toMatchObject({ kind: 'ordered', replay: { state: 'running', matched: 6, done: 0 } });
    await worker.orders.look();
    for (const shard of [0, 1]) await worker.deliver(shard);
    await worker.orders.look();
    expect(await worker.replays.idsUnderWay()).toEqual(['one']);
    server = await startRedisServer(server.port);
    await redisReady(last, () => undefined);
    await goBack();
    await worker.own();
    await worker.orders.look();
    expect(worker.part(2).rest(KEY)).toEqual(RANGE);
    await worker.deliver(2);
    await worker.orders.look();
    expect(await worker.status()).toEqual({ state: 'done', matched: 18, done: 18 });
  } finally {
    last.disconnect();
    await server.stop();
  }
});
