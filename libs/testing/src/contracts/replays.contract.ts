import type { PartitionProgress } from '@relay/progress';
import type { Replays } from '@relay/replays';

/** Replays and the progress with which their cursors are written. */
export interface ReplaysHarness {
  readonly replays: Pick<Replays, 'create' | 'cancel' | 'orders' | 'rangesOf'>;
  readonly progress: PartitionProgress;
}

/** What replays are to the owners of partitions. `open` is called for each test, over stores that hold nothing. */
export function describeReplays(name: string, open: () => Promise<ReplaysHarness>): void {
  describe(`${name} as Replays`, () => {
    const at = { topic: 'task.created', partition: 0 };
    const other = { topic: 'task.created', partition: 1 };
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
    const ended = (key: string) => ({
      token: 't',
      confirmed: { highWater: 0, sequence: 1 },
      next: { highWater: 0, sequence: 2 },
      settled: [],
      partial: [],
      whole: [],
      parking: {
        changed: new Map([[key, []]]),
        replays: new Map([[key, { done: 6, failed: 0 }]]),
        dropped: [],
        keptFrom: undefined,
        next: 0,
      },
    });
    let harness: ReplaysHarness;
    const keys = async (): Promise<string[]> => [...(await harness.replays.orders()).keys];
    beforeEach(async () => {
      harness = await open();
      await harness.progress.own(at, 't', { take: true, start: 0 });
    });

    it('are ordered with their ranges, each with a series of its own, one at a time for a webhook', async () => {
      const { replays } = harness;
      expect(await replays.create(replay('one', 'a'), ranges, 1)).toBeUndefined();
      expect(await replays.create(replay('two', 'a'), ranges, 1)).toBe('one');
      expect(await replays.create(replay('three', 'b', 'failed'), ranges, 1)).toBeUndefined();
      expect((await keys()).toSorted()).toEqual(['a/1000', 'failed:b/2000']);
      expect(await replays.create(replay('four', 'b'), ranges, 1)).toBe('three');
      expect(await replays.rangesOf(at, ['a/1000', 'c/3000'])).toEqual(
        new Map([['a/1000', { ranges: [{ from: 3, to: 9 }], counts: none }]]),
      );
      expect(await replays.rangesOf(other, ['a/1000'])).toEqual(new Map());
      expect((await harness.progress.parking(at)).replays).toEqual(
        new Map([
          ['a/1000', none],
          ['failed:b/2000', none],
        ]),
      );
    });

    it('are not under way where nothing matches', async () => {
      await harness.replays.create(replay('one', 'a'), [{ ...at, from: 4, end: 4 }], 1);
      expect(await keys()).toEqual([]);
    });

    it('end with the flush that leaves no range of them', async () => {
      await harness.replays.create(replay('one', 'a'), ranges, 1);
      expect(await harness.progress.flush(at, ended('a/1000'))).toBe(true);
      expect([await keys(), await harness.replays.rangesOf(at, ['a/1000'])]).toEqual([[], new Map()]);
      expect(await harness.replays.cancel('one', 2)).toBe(false);
    });

    it('are no orders any more once they are cancelled, and their ranges go with the flush of the owner', async () => {
      await harness.replays.create(replay('one', 'a'), ranges, 1);
      expect(await harness.replays.cancel('one', 2)).toBe(true);
      expect(await keys()).toEqual([]);
      expect(await harness.replays.cancel('one', 3)).toBe(false);
      await harness.progress.flush(at, ended('a/1000'));
      expect((await harness.progress.parking(at)).ranges).toEqual(new Map());
    });
  });
}
