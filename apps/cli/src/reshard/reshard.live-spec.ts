import { randomUUID } from 'node:crypto';
import { assertNumberOfShards, RESHARDING, RedisPartitionProgress } from '@relay/progress';
import { shardsOn } from '@relay/redis';
import { redisOfSpec } from '@relay/testing';
import { kindOf } from './layout.adapter.js';
import { reshard, type ReshardParts } from './reshard.command.js';
import { AT, SpecState, WINDOW_MS } from './spec-state.js';

const { redis } = await redisOfSpec({ maxRetriesPerRequest: null });
const CUT_OFF = 'cut off';

const partsOf = (others: Partial<ReshardParts> = {}): ReshardParts => ({
  redis,
  shardsOf: async (count) => shardsOn(redis, count),
  historyWindowMs: WINDOW_MS,
  readDisputed: async () => undefined,
  assertStopped: async () => undefined,
  assertWhole: async () => undefined,
  note: () => undefined,
  ...others,
});
const keysOutside = async (count: number): Promise<string[]> => {
  const tags = new Set(shardsOn(redis, count).all.map(({ tag }) => tag));
  const keys = await redis.keys('*');
  return keys.filter((key) => {
    const tag = key.slice(0, key.indexOf('}') + 1);
    const kind = kindOf(tag, key)?.kind;
    return !tags.has(tag) && kind !== 'global' && kind !== 'order';
  });
};
/** What each partition of each shard begins with. */
const positions = (count: number): Promise<unknown[]> =>
  Promise.all(
    shardsOn(redis, count).all.flatMap((shard) =>
      AT.map(async (at) => {
        const progress = new RedisPartitionProgress(shard, WINDOW_MS);
        const { next } = await progress.parking(at);
        const found = await progress.own(at, 'look', { take: false });
        await progress.release(at, 'look');
        return found === undefined || found === 'owned-elsewhere' ? found : [found.highWater, next, found.read];
      }),
    ),
  );

beforeEach(() => redis.flushall());

it.each([
  [1, [3, 16, 1]],
  [3, [1, 2, 3]],
])(
  'the state of %i shards is whole after changes to %j',
  async (first, others) => {
    const state = new SpecState();
    await state.fill(shardsOn(redis, first));
    if (first > 1) await redis.set('{relay:0}:shards', first);
    const before = await state.read(shardsOn(redis, first));
    // Two thirds of the marks are settled, each of them by one partition; the others are of an ingress.
    expect((before['seen'] as unknown[]).filter((mark) => mark !== undefined)).toHaveLength(120);
    for (const count of others) {
      const report = await reshard(partsOf(), count);
      expect(report?.after).toEqual(report?.before);
      expect(report?.after).toMatchObject({
        'seen ids': 120,
        'jobs delayed': 20,
        'dead letters waiting': 20,
        'jobs held for disabled webhooks': 12,
        'jobs held for unproven origins': 16,
        'history lines': 120,
        'webhooks parked in a partition': 2,
        'repeats in parked ranges': 4,
      });
      expect(await state.read(shardsOn(redis, count))).toEqual(before);
      expect(await keysOutside(count)).toEqual([]);
      expect(await redis.get('{relay:0}:shards')).toBe(String(count));
      expect(await redis.exists('{relay:0}:resharded')).toBe(0);
      expect(await reshard(partsOf(), count)).toBeUndefined();
    }
  },
  120_000,
);

it('every new shard begins at the lowest high water, and remembers the highest offset that was read', async () => {
  await new SpecState().fill(shardsOn(redis, 3));
  await redis.set('{relay:0}:shards', 3);
  await reshard(partsOf(), 2);
  const found = [70, 92, { next: 92, newest: 1_002 }];
  expect(await positions(2)).toEqual([found, found, found, found]);
});

it.each([
  [1, 3],
  [3, 1],
  [3, 16],
])(
  'a change from %i to %i shards that is cut off at any step ends alike once it is run again',
  async (from, to) => {
    const state = new SpecState();
    await state.fill(shardsOn(redis, from));
    if (from > 1) await redis.set('{relay:0}:shards', from);
    const before = await state.read(shardsOn(redis, from));
    let steps = 0;
    for (let cutAt = 1; ; cutAt += 1) {
      steps = 0;
      const note = (): void => {
        steps += 1;
        if (steps === cutAt) throw new Error(CUT_OFF);
      };
      const ended = await reshard(partsOf({ note }), to).then(
        () => true,
        (error: Error) => error.message !== CUT_OFF,
      );
      const current = Number((await redis.get('{relay:0}:shards')) ?? 1);
      expect(await state.read(shardsOn(redis, current))).toEqual(before);
      if (ended || current === to) break;
    }
    expect(steps).toBeGreaterThan(9);
    await reshard(partsOf(), to);
    expect(await state.read(shardsOn(redis, to))).toEqual(before);
    expect(await keysOutside(to)).toEqual([]);
  },
  120_000,
);

it('reshard refuses a key that it does not know, before it changes anything', async () => {
  await new SpecState().fill(shardsOn(redis, 1));
  await redis.set('{relay:0}:novelty:1', 'x');
  const keys = (await redis.keys('*')).toSorted();
  await expect(reshard(partsOf(), 3)).rejects.toThrow('does not know the keys {relay:0}:novelty:1');
  expect((await redis.keys('*')).toSorted()).toEqual(keys);
});

it('reshard changes nothing while a role runs, when a worker comes meanwhile, or when a copy is incomplete', async () => {
  const state = new SpecState();
  await state.fill(shardsOn(redis, 1));
  const before = await state.read(shardsOn(redis, 1));
  const running = (): Promise<void> => Promise.reject(new Error('worker runs'));
  await expect(reshard(partsOf({ assertStopped: running }), 3)).rejects.toThrow('worker runs');
  expect(await redis.keys('{relay:?/3}*')).toEqual([]);

  const during = (step: string, change: () => void) => (text: string) => void (text.startsWith(step) && change());
  const worker = new RedisPartitionProgress(shardsOn(redis, 1).all[0]!, WINDOW_MS);
  let owning: Promise<unknown> = Promise.resolve();
  const owns = during('history', () => {
    owning = worker.own(AT[0]!, 'late', { take: true });
  });
  await expect(reshard(partsOf({ note: owns }), 3)).rejects.toThrow('A worker ran meanwhile');
  await owning;

  const lose = during('progress', () => void redis.del('{relay:1/3}:deliveries:delayed'));
  await expect(reshard(partsOf({ note: lose }), 3)).rejects.toThrow(
    /not complete: jobs delayed 20 before, \d+ after\./,
  );
  expect(await redis.exists('{relay:0}:shards')).toBe(0);
  expect(await state.read(shardsOn(redis, 1))).toEqual(before);
});

it('reshard lets no role start while it runs, and changes nothing once its mark is gone', async () => {
  await new SpecState().fill(shardsOn(redis, 1));
  let starting: Promise<string> = Promise.resolve('');
  const starts = (text: string): void => {
    if (!text.startsWith('history')) return;
    starting = assertNumberOfShards(redis, 1, []).then(
      () => 'started',
      (error: Error) => error.message,
    );
  };
  await reshard(partsOf({ note: starts }), 2);
  expect(await starting).toContain('`relay reshard` is changing the number of shards');
  await assertNumberOfShards(redis, 2, []);

  const stoodStill = (text: string): void => void (text.startsWith('history') && redis.del(RESHARDING));
  await expect(reshard(partsOf({ note: stoodStill }), 3)).rejects.toThrow('stood still');
  await assertNumberOfShards(redis, 2, []);
});

it('a webhook gets what it waits for if the old shards differ, and nothing that it got', async () => {
  const shards = shardsOn(redis, 3);
  await new SpecState().fill(shards);
  await redis.set('{relay:0}:shards', 3);
  const webhookId = randomUUID();
  const at = AT[0]!;
  // Parked in the first shard alone, from offset 50 on, when the others had read to 90.
  const waits = shards.all[0]!;
  await redis.hset(waits.key('parking', at.topic, at.partition), webhookId, '50-');
  await redis.hset(waits.key('parked', webhookId), `${at.topic}/${at.partition}`, '50-');
  await redis.sadd(waits.key('parked'), webhookId);
  // Records 50, 53, … are of the first old shard, and 50, 52, … of the first new one.
  const log = Array.from({ length: 50 }, (_, n) => ({ offset: 50 + n, shards: [n % 3, n % 2] as const }));
  const readDisputed: ReshardParts['readDisputed'] = async (divisions) => {
    for (const { offset, shards: both } of log) divisions[0]?.take(offset, both);
  };
  await reshard(partsOf({ readDisputed }), 2);
  const found = await Promise.all(
    shardsOn(redis, 2).all.map(async (shard) => {
      const { ranges } = await new RedisPartitionProgress(shard, WINDOW_MS).parking(at);
      return (offset: number) =>
        ranges.get(webhookId)?.some(({ from, to = Infinity }) => offset >= from && offset < to) === true;
    }),
  );
  // No shard has handed out a record from 92 on.
  for (const {
    offset,
    shards: [old, wanted],
  } of log)
    expect([offset, found[wanted]?.(offset)]).toEqual([offset, offset >= 92 || old === 0]);
});
