import type { LogPartition, ParkedRange, PartitionProgress, Position } from '@relay/progress';
import type { Replays } from '@relay/replays';

/** Replays and the progress with which their cursors are written. */
interface ReplaysHarness {
  readonly replays: Pick<Replays, 'create' | 'cancel' | 'orders' | 'ended' | 'rangesOf' | 'endDone' | 'resumeEnded'>;
  /** One entry for each shard. */
  readonly progress: readonly PartitionProgress[];
}

/**
 * Contract of replays as the owners of partitions see them. `open` is called for each test, over stores that hold nothing.
 * @param shards their number in `open`
 */
export function describeReplays(name: string, shards: number, open: () => Promise<ReplaysHarness>): void {
  const [isOne, numbers] = [shards === 1, Array.from({ length: shards }, (_, number) => number)];
  const inShard = (partition: number, shard: number): LogPartition => ({
    topic: 'task.created',
    partition,
    ...(isOne ? {} : { shard }),
  });
  const [at, other] = [inShard(0, shards - 1), inShard(1, shards - 1)];
  const none = { done: 0, failed: 0 };
  const replay = (id: string, webhookId: string, status: 'all' | 'failed' = 'all') => ({
    id,
    webhookId,
    partnerId: 'p',
    eventType: 'task.created',
    status,
    since: undefined,
    until: undefined,
    orderedBy: 'partner' as const,
  });
  const ranges = [
    { ...at, from: 3, end: 9 },
    { ...other, from: 5, end: 5 },
  ];
  let harness: ReplaysHarness;
  let written: Map<number, Position>;
  const keys = async (): Promise<string[]> => [...(await harness.replays.orders()).keys];
  const progressOf = (shard: number): PartitionProgress => harness.progress[shard] as PartitionProgress;
  async function opened(): Promise<void> {
    harness = await open();
    written = new Map(numbers.map((shard) => [shard, { highWater: 0, sequence: 1 }]));
    for (const shard of numbers) await progressOf(shard).own(inShard(0, shard), 't', { take: true, start: 0 });
  }

  /** Writes what partition 0 of a shard has left of a replay. */
  async function write(shard: number, key: string, left: readonly ParkedRange[], done: number): Promise<boolean> {
    const confirmed = written.get(shard) as Position;
    const next = { highWater: 0, sequence: confirmed.sequence + 1 };
    written.set(shard, next);
    return progressOf(shard).flush(inShard(0, shard), {
      token: 't',
      confirmed,
      next,
      settled: [],
      partial: [],
      whole: [],
      parking: {
        changed: new Map([[key, left]]),
        replays: new Map([[key, { done, failed: 0 }]]),
        dropped: [],
        keptFrom: undefined,
        next: 0,
      },
    });
  }

  describe(`${name} as Replays`, () => {
    beforeEach(opened);

    it('are ordered with their ranges, each with a series of its own, one at a time for a webhook', async () => {
      const { replays } = harness;
      expect(await replays.create(replay('one', 'a'), ranges, 1)).toBeUndefined();
      expect(await replays.create(replay('two', 'a'), ranges, 1)).toBe('one');
      expect(await replays.create(replay('three', 'b', 'failed'), ranges, 1)).toBeUndefined();
      expect((await keys()).toSorted()).toEqual(['a/1000', 'failed:b/2000']);
      expect(await replays.create(replay('four', 'b'), ranges, 1)).toBe('three');
      for (const shard of numbers)
        expect((await replays.rangesOf(inShard(0, shard), ['a/1000', 'c/3000'])).get('a/1000')).toEqual({
          ranges: [{ from: 3, to: 9 }],
          counts: none,
        });
      expect([...(await replays.rangesOf(other, ['a/1000'])).values()].flatMap((part) => part.ranges)).toEqual([]);
    });

    it('are not under way if nothing matches', async () => {
      await harness.replays.create(replay('one', 'a'), [{ ...at, from: 4, end: 4 }], 1);
      expect(await keys()).toEqual([]);
    });

    it('are continued from the place that each shard has written', async () => {
      await harness.replays.create(replay('one', 'a'), ranges, 1);
      expect(await write(shards - 1, 'a/1000', [{ from: 7, to: 9 }], 2)).toBe(true);
      const found = await Promise.all(
        numbers.map(async (shard) => (await harness.replays.rangesOf(inShard(0, shard), ['a/1000'])).get('a/1000')),
      );
      expect(found).toEqual([
        ...numbers.slice(1).map(() => ({ ranges: [{ from: 3, to: 9 }], counts: none })),
        { ranges: [{ from: 7, to: 9 }], counts: { done: 2, failed: 0 } },
      ]);
      expect((await progressOf(shards - 1).parking(at)).replays.get('a/1000')).toEqual({ done: 2, failed: 0 });
    });

    it('end once the flushes leave no range of them in any shard', async () => {
      await harness.replays.create(replay('one', 'a'), ranges, 1);
      for (const shard of numbers) {
        await harness.replays.endDone(['a/1000']);
        expect(await keys()).toEqual(['a/1000']);
        expect(await write(shard, 'a/1000', [], 6)).toBe(true);
      }
      await harness.replays.endDone(['a/1000']);
      expect(await keys()).toEqual([]);
      expect([...(await harness.replays.rangesOf(at, ['a/1000'])).values()].flatMap((part) => part.ranges)).toEqual([]);
      expect(await harness.replays.cancel('one', 2)).toBe(false);
    });

    it('are no orders any more once they are cancelled, and their ranges go with the flush of the owner', async () => {
      await harness.replays.create(replay('one', 'a'), ranges, 1);
      expect(await harness.replays.cancel('one', 2)).toBe(true);
      expect(await keys()).toEqual([]);
      expect(await harness.replays.cancel('one', 3)).toBe(false);
      for (const shard of numbers) await write(shard, 'a/1000', [], 0);
      await harness.replays.endDone(['a/1000']);
      expect((await progressOf(shards - 1).parking(at)).ranges).toEqual(new Map());
      expect([await harness.replays.ended(), await keys()]).toEqual([new Map(), []]);
    });
  });

  if (isOne) return;
  describe(`${name} over several shards`, () => {
    beforeEach(opened);

    it('run again when they have ended and a shard shows otherwise, and not once they were cancelled', async () => {
      const { replays } = harness;
      await replays.create(replay('one', 'a'), ranges, 1);
      expect(await replays.ended()).toEqual(new Map());
      for (const shard of numbers) await write(shard, 'a/1000', [], 6);
      await replays.endDone(['a/1000']);
      expect(await replays.ended()).toEqual(new Map([['a/1000', 'one']]));
      for (let times = 0; times < 2; times += 1) expect(await replays.resumeEnded('a/1000', 'one')).toBe(true);
      expect([await replays.ended(), await keys()]).toEqual([new Map(), ['a/1000']]);
      expect(await replays.cancel('one', 2)).toBe(true);
      expect([await replays.resumeEnded('a/1000', 'one'), await keys()]).toEqual([false, []]);
    });

    it('are written in the shard with its flush alone', async () => {
      await harness.replays.create(replay('one', 'a'), ranges, 1);
      const parked = await Promise.all(numbers.map((shard) => progressOf(shard).parking(inShard(0, shard))));
      expect(parked.map(({ ranges: stored }) => stored.size)).toEqual(numbers.map(() => 0));
    });
  });
}
