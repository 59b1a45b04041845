import { RedisPartitionProgress } from '@relay/progress';
import { onlyShard, oneShard } from '@relay/redis';
import { type NewReplay, Replays } from '@relay/replays';
import { PinoLog, ThrottledLog } from '@relay/telemetry';
import { redisOfSpec } from '@relay/testing';
import type { Webhook } from '@relay/webhooks';
import type { CatchUpPartition } from '../log/catch-up-partition.js';
import { PartitionReader } from '../log/partition-reader.js';
import { ReplayOrders } from './replay-orders.js';

const { redis } = await redisOfSpec();

const at = { topic: 'task.created', partition: 3 };
const other = { topic: 'task.created', partition: 4 };
const log = new PinoLog('spec', 'silent');
const NOW = 1_000;
const replay = (id: string, webhookId = 'w'): NewReplay => ({
  id,
  webhookId,
  partnerId: 'p',
  eventType: 'task.created',
  status: 'all',
  since: 5,
  until: undefined,
  orderedBy: 'partner',
});

describe('ordered replays', () => {
  let readers: PartitionReader[];
  let orders: ReplayOrders;
  const progress = new RedisPartitionProgress(onlyShard(redis), 72 * 3_600_000);
  const replays = new Replays(redis, oneShard(redis));
  beforeEach(async () => {
    await redis.flushall();
    readers = [];
    const partitions = () => readers.flatMap((reader) => reader.catchUpPartition() ?? []);
    const elsewhere = { id: 'elsewhere', eventType: 'plan.created' } as Webhook;
    orders = new ReplayOrders(
      replays,
      { catchUpPartitions: partitions },
      { find: (id) => (id === 'elsewhere' ? elsewhere : undefined) },
      { KAFKA_TOPIC_PREFIX: '' },
      new ThrottledLog(log),
    );
    await started();
  });

  async function started(): Promise<void> {
    readers = await Promise.all(
      [at, other].map(async (each) => {
        const reader = new PartitionReader(each, progress, log, 100);
        await reader.own(100);
        return reader;
      }),
    );
  }
  const catching = (index = 0): CatchUpPartition => {
    const found = readers[index]?.catchUpPartition();
    if (found === undefined) throw new Error('the partition is not read');
    return found;
  };
  const flush = (): Promise<unknown> => Promise.all(readers.map((reader) => reader.flush()));
  const status = async (id: string): Promise<unknown> => {
    const { state, matched, done, failed } = (await replays.find(id, NOW + 2_000)) ?? {};
    return { state, matched, done, failed };
  };
  const ranges = [
    { ...at, from: 10, end: 14 },
    { ...other, from: 0, end: 2 },
  ];

  it('are taken up by the owners of the partitions, go on after a crash at the cursor, and count each delivery once', async () => {
    expect(await replays.create(replay('one'), ranges, NOW)).toBeUndefined();
    expect(await status('one')).toEqual({ state: 'running', matched: 6, done: 0, failed: 0 });
    await orders.look();
    expect(catching().rest('w/1000')).toEqual({ from: 10, to: 14 });
    expect(catching(1).rest('w/1000')).toEqual({ from: 0, to: 2 });
    const [ten, eleven, twelve] = [10, 11, 12].map((offset) => catching().catchUp('w/1000')?.begin(offset));
    ten?.();
    twelve?.(async () => undefined);
    await flush();
    expect(await status('one')).toEqual({ state: 'running', matched: 6, done: 1, failed: 0 });
    eleven?.();

    await started(); // nothing of the eleventh was written
    await orders.look();
    expect(catching().rest('w/1000')).toEqual({ from: 11, to: 14 });
    catching().catchUp('w/1000')?.begin(11)?.();
    catching().catchUp('w/1000')?.begin(12)?.(async () => undefined);
    catching().catchUp('w/1000')?.passed(14);
    catching(1).catchUp('w/1000')?.begin(1)?.();
    await flush();
    expect(await status('one')).toEqual({ state: 'done', matched: 4, done: 3, failed: 1 });
    expect(await replays.find('one', NOW)).toMatchObject({
      webhookId: 'w',
      since: 5,
      until: undefined,
      secondsLeft: 0,
    });
    await orders.look();
    expect([catching().replayKeys, await replays.underWay(NOW), await redis.keys('*parking*')]).toEqual([[], [], []]);
  });

  it('are one at a time for a webhook, and as many as there are webhooks', async () => {
    await replays.create(replay('one'), ranges, NOW);
    expect(await replays.create(replay('two'), ranges, NOW)).toBe('one');
    expect(await replays.find('two', NOW)).toBeUndefined();
    expect(await replays.create(replay('three', 'v'), ranges, NOW)).toBeUndefined();
    const underWay = await replays.underWay(NOW);
    expect(underWay.map(({ id }) => id).toSorted()).toEqual(['one', 'three']);
  });

  it('are looked for in the partitions of their own topic only', async () => {
    await replays.create(replay('one', 'elsewhere'), ranges, NOW);
    await orders.look();
    expect(catching().replayKeys).toEqual([]);
  });

  it('are no orders any more once they are forgotten', async () => {
    await replays.create(replay('one'), ranges, NOW);
    await orders.look();
    await redis.del('{relay:0}:replay:one', '{relay:0}:parked:w/1000');
    catching().catchUp('w/1000')?.begin(10)?.();
    await flush();
    expect([await redis.hlen('{relay:0}:replays'), await replays.create(replay('two'), ranges, NOW)]).toEqual([
      0,
      undefined,
    ]);
  });

  it('end at once where nothing matches', async () => {
    await replays.create(replay('one'), [{ ...at, from: 7, end: 7 }], NOW);
    expect(await status('one')).toEqual({ state: 'done', matched: 0, done: 0, failed: 0 });
    expect(await replays.create(replay('two'), ranges, NOW)).toBeUndefined();
  });

  it('are forgotten when they are cancelled, and counted as far as they came', async () => {
    await replays.create(replay('one'), ranges, NOW);
    await orders.look();
    catching().catchUp('w/1000')?.begin(10)?.();
    const late = catching().catchUp('w/1000')?.begin(11);
    expect(await replays.cancel('one', NOW)).toBe(true);
    await orders.look();
    late?.();
    expect([catching().replayKeys, catching().catchUp('w/1000')?.begin(12)]).toEqual([[], undefined]);
    await flush();
    expect(await status('one')).toEqual({ state: 'cancelled', matched: 6, done: 1, failed: 0 });
    expect([await replays.cancel('one', NOW), await replays.cancel('none', NOW)]).toEqual([false, false]);
    await orders.look();
    expect([catching().replayKeys, await redis.keys('*parking*')]).toEqual([[], []]);
  });

  it('are held up while they are paused', async () => {
    await replays.create(replay('one'), ranges, NOW);
    expect(await replays.pause('one', true)).toBe(true);
    await orders.look();
    expect([orders.isPaused('w/1000'), await status('one')]).toMatchObject([true, { state: 'paused' }]);
    expect(await replays.pause('one', false)).toBe(true);
    await orders.look();
    expect([orders.isPaused('w/1000'), await status('one')]).toMatchObject([false, { state: 'running' }]);
    expect(await replays.pause('none', true)).toBe(false);
  });

  it('do not keep live records from being handed out, and are no parked webhooks', async () => {
    await replays.create(replay('one'), ranges, NOW);
    await orders.look();
    expect(readers[0]?.accept(100)?.isParked('w')).toBe(false);
    expect([catching().webhookIds, catching().waiting, await redis.exists('{relay:0}:parked')]).toEqual([[], 0, 0]);
  });

  it('held up until they are forgotten keep their webhook from no other, and leave nothing behind', async () => {
    await replays.create(replay('one'), ranges, NOW);
    await replays.pause('one', true);
    await redis.del('{relay:0}:replay:one');
    expect(await replays.create(replay('two'), ranges, NOW)).toBeUndefined();
    expect(await replays.orders()).toEqual({ keys: new Set(['w/2000']), paused: new Set() });
  });

  it('that are ordered and cancelled again and again are remembered as the newest of their webhook only', async () => {
    const ids = Array.from({ length: 50 }, (_, n) => `r${n}`);
    for (const id of ids) {
      expect(await replays.create(replay(id), ranges, NOW)).toBeUndefined();
      await replays.cancel(id, NOW);
    }
    expect((await replays.newest(0, 100, NOW)).map(({ id }) => id).toSorted()).toEqual(ids.slice(30).toSorted());
    expect(await replays.find('r29', NOW)).toBeUndefined();
    await orders.look();
    await flush();
    // Two of each replay, and a few of all.
    expect((await redis.keys('*')).length).toBeLessThan(2 * 20 + 10);
  });

  it('that match nothing are remembered for minutes and in no list, so that they do not fill Redis', async () => {
    await replays.create(replay('none'), [{ ...at, from: 4, end: 4 }], NOW);
    expect(await status('none')).toMatchObject({ state: 'done', matched: 0 });
    expect(await replays.newest(0, 10, NOW)).toEqual([]);
    const left = (await redis.keys('*')).filter((key) => !/:progress:|:series$/.test(key));
    expect(left).toHaveLength(2);
    const lifetimes = await Promise.all(left.map((key) => redis.ttl(key)));
    expect(lifetimes.filter((seconds) => seconds < 1 || seconds > 600)).toEqual([]);
  });
});
