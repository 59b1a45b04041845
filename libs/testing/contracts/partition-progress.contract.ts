import { randomUUID } from 'node:crypto';
import type { SeenEntry } from '@relay/dedupe';
import type { Flush, LogPartition, PartitionProgress } from '@relay/progress';

/** Progress with the means to mark ids as an ingress does. */
interface ProgressHarness {
  readonly progress: PartitionProgress;
  /** The shard of the partitions, and ids of envelopes that belong to it if there are several shards. */
  readonly shard?: { readonly number: number; newId(): string };
  markPublished(entries: readonly SeenEntry[]): Promise<void>;
  /** Sets the version of the registrations. */
  setRegistryVersion(version: number): Promise<void>;
}

type Pair = readonly [highWater: number, sequence: number];

const HASH = 'aaaaaaaaaaaaaaaa';
const OTHER = 'bbbbbbbbbbbbbbbb';
const TAKE = { take: true };
const position = ([highWater, sequence]: Pair) => ({ highWater, sequence });
const flushOf = (token: string, from: Pair, to: Pair): Flush => ({
  token,
  confirmed: position(from),
  next: position(to),
  settled: [],
  partial: [],
  whole: [],
});

/** Contract of every PartitionProgress. `open` is called once; partitions and ids are new ones each time. */
export function describePartitionProgress(name: string, open: () => Promise<ProgressHarness>): void {
  describe(`${name} as PartitionProgress`, () => {
    let harness: ProgressHarness;
    let progress: PartitionProgress;
    let at: LogPartition = { topic: 'task.created', partition: 0 };
    beforeAll(async () => {
      harness = await open();
      progress = harness.progress;
      if (harness.shard !== undefined) at.shard = harness.shard.number;
    });
    beforeEach(() => {
      at = { ...at, partition: at.partition + 1 };
    });
    const anEntry = (hash = HASH): SeenEntry => ({ id: harness.shard?.newId() ?? randomUUID(), hash });
    const resultsOf = async (...entries: SeenEntry[]) => (await progress.lookUp(at, entries)).results;
    const settle = async (...settled: SeenEntry[]) => {
      await progress.own(at, 'a', { ...TAKE, start: 0 });
      await progress.flush(at, { ...flushOf('a', [0, 1], [1, 2]), settled });
    };

    it('has no progress of a partition before its beginning is set', async () => {
      expect(await progress.own(at, 'a', TAKE)).toBeUndefined();
      expect(await progress.own(at, 'a', { ...TAKE, start: 7 })).toEqual({ highWater: 7, sequence: 0 });
      expect(await progress.own(at, 'b', { ...TAKE, start: 99 })).toEqual({ highWater: 7, sequence: 1 });
    });

    it('remembers that it knew every partition that was read', async () => {
      const unread = { ...at, topic: 'task.updated' };
      expect([await progress.wasKnown(at), await progress.rememberKnown([at])]).toEqual([false, false]);
      await progress.own(at, 'a', TAKE);
      expect(await progress.rememberKnown([at])).toBe(false);
      await progress.own(at, 'a', { ...TAKE, start: 7 });
      expect([await progress.rememberKnown([at, unread]), await progress.wasKnown(at)]).toEqual([false, false]);
      expect([await progress.rememberKnown([at]), await progress.wasKnown(unread)]).toEqual([true, true]);
      expect(await progress.rememberKnown([at, unread])).toBe(true);
    });

    it('leaves a partition with its owner until that releases it, unless it is to be taken', async () => {
      await progress.own(at, 'a', { take: false, start: 7 });
      expect(await progress.own(at, 'b', { take: false })).toBe('owned-elsewhere');
      expect(await progress.own(at, 'a', { take: false })).toEqual({ highWater: 7, sequence: 1 });
      expect(await progress.flush(at, flushOf('a', [7, 2], [8, 3]))).toBe(true);
      await progress.release(at, 'b');
      expect(await progress.own(at, 'b', { take: false })).toBe('owned-elsewhere');
      await progress.release(at, 'a');
      expect(await progress.flush(at, flushOf('a', [8, 3], [9, 4]))).toBe(false);
      expect(await progress.own(at, 'b', { take: false })).toEqual({ highWater: 8, sequence: 3 });
      expect(await progress.own(at, 'c', { take: true })).toEqual({ highWater: 8, sequence: 4 });
      expect(await progress.flush(at, flushOf('b', [8, 4], [9, 5]))).toBe(false);
    });

    it('begins at the high water that a flush has put back, because Kafka lost the end of the log', async () => {
      await progress.own(at, 'a', { ...TAKE, start: 1_000 });
      expect(await progress.flush(at, flushOf('a', [1_000, 1], [990, 2]))).toBe(true);
      expect(await progress.own(at, 'a', TAKE)).toEqual({ highWater: 990, sequence: 2 });
    });

    it('tells a new owner how far the partition was read, as the last flush said that told it', async () => {
      await progress.own(at, 'a', { ...TAKE, start: 0 });
      const read = { next: 7, newest: 1_764_000_000_123, topicIds: ['now', 'before'] };
      await progress.flush(at, { ...flushOf('a', [0, 1], [5, 2]), read });
      await progress.flush(at, flushOf('a', [5, 2], [6, 3]));
      for (let time = 0; time < 2; time += 1)
        expect(await progress.own(at, 'b', { ...TAKE, claim: 'one' })).toEqual({ highWater: 6, sequence: 3, read });
      await progress.flush(at, { ...flushOf('b', [6, 4], [7, 5]), read: { next: 8, newest: Infinity } });
      expect((await progress.own(at, 'a', TAKE)) as object).toMatchObject({ read: { next: 8, newest: Infinity } });
    });

    it('counts ownerships, so that a store that went back before one is recognised', async () => {
      await progress.own(at, 'a', { ...TAKE, start: 0 });
      await progress.own(at, 'b', TAKE);
      expect(await progress.own(at, 'b', TAKE)).toEqual({ highWater: 0, sequence: 2 });
    });

    it('returns the same result for a repeated claim, until another claim', async () => {
      const found = { highWater: 7, sequence: 0 };
      for (let time = 0; time < 3; time += 1)
        expect(await progress.own(at, 'a', { ...TAKE, start: 7, claim: 'one' })).toEqual(found);
      expect(await progress.flush(at, flushOf('a', [7, 1], [8, 2]))).toBe(true);
      for (let time = 0; time < 2; time += 1)
        expect(await progress.own(at, 'a', { ...TAKE, claim: 'two' })).toEqual({ highWater: 8, sequence: 2 });
      expect(await progress.own(at, 'b', { ...TAKE, claim: 'two' })).toEqual({ highWater: 8, sequence: 3 });
      expect(await progress.own(at, 'a', { ...TAKE, claim: 'two' })).toEqual({ highWater: 8, sequence: 4 });
    });

    it('refuses the flush of a former owner', async () => {
      await progress.own(at, 'a', { ...TAKE, start: 0 });
      await progress.own(at, 'b', TAKE);
      expect(await progress.flush(at, flushOf('a', [0, 1], [5, 2]))).toBe(false);
      expect(await progress.own(at, 'b', TAKE)).toEqual({ highWater: 0, sequence: 2 });
      expect(await progress.flush(at, flushOf('b', [0, 3], [5, 4]))).toBe(true);
    });

    it.each([
      ['its high water is another', [4, 2]],
      ['its sequence is another', [5, 1]],
    ] as const)('refuses a flush when %s: the store went back in time', async (_, from) => {
      const entry = anEntry();
      await progress.own(at, 'a', { ...TAKE, start: 0 });
      await progress.flush(at, flushOf('a', [0, 1], [5, 2]));
      expect(await progress.flush(at, { ...flushOf('a', from, [9, 3]), settled: [entry] })).toBe(false);
      expect(await progress.own(at, 'a', TAKE)).toEqual({ highWater: 5, sequence: 2 });
      expect(await resultsOf(entry)).toEqual(['open']);
    });

    it.each([
      ['arrived although its reply was lost', true],
      ['never arrived', false],
    ])('takes a flush whose predecessor %s', async (_, arrived) => {
      await progress.own(at, 'a', { ...TAKE, start: 0 });
      if (arrived) await progress.flush(at, flushOf('a', [0, 1], [5, 2]));
      const next = { ...flushOf('a', [0, 1], [9, 3]), sent: position([5, 2]) };
      expect(await progress.flush(at, next)).toBe(true);
      expect(await progress.own(at, 'a', TAKE)).toEqual({ highWater: 9, sequence: 3 });
    });

    it('looks up without a write, and distinguishes an open id, a settled one and other content', async () => {
      const [one, two] = [anEntry(), anEntry()];
      expect(await resultsOf(one, two, one)).toEqual(['open', 'open', 'open']);
      await settle(one);
      expect(await resultsOf(one, two, { ...one, hash: OTHER })).toEqual(['duplicate', 'open', 'conflict']);
    });

    it('gives each of the look-ups made at once its own results', async () => {
      const [one, two] = [anEntry(), anEntry()];
      await settle(one);
      const answers = await Promise.all([resultsOf(one), resultsOf(), resultsOf(two, { ...one, hash: OTHER }, one)]);
      expect(answers).toEqual([['duplicate'], [], ['open', 'conflict', 'duplicate']]);
    });

    it('takes an id that an ingress has only published as open, and settles it whatever content that had', async () => {
      const [one, two] = [anEntry(), anEntry()];
      await harness.markPublished([one, two]);
      const other = { ...two, hash: OTHER };
      expect(await resultsOf(one, other)).toEqual(['open', 'open']);
      await settle(one, other);
      expect(await resultsOf(one, other, two)).toEqual(['duplicate', 'duplicate', 'conflict']);
    });

    it('never settles a settled id in the name of another content', async () => {
      const entry = anEntry();
      await settle(entry);
      await progress.flush(at, { ...flushOf('a', [1, 2], [2, 3]), settled: [{ ...entry, hash: OTHER }] });
      expect(await resultsOf(entry)).toEqual(['duplicate']);
    });

    it('keeps partial marks of a partition until their envelope is whole', async () => {
      const { id } = anEntry();
      const other = { ...at, topic: 'task.updated' };
      const marked = async (partition: typeof at) => (await progress.partials(partition, [id])).get(id);
      await progress.own(at, 'a', { ...TAKE, start: 0 });
      const partial = [{ id, webhookIds: ['w1', 'w2'] }];
      await progress.flush(at, { ...flushOf('a', [0, 1], [0, 2]), partial });
      expect(await marked(at)).toEqual(new Set(['w1', 'w2']));
      expect(await marked(other)).toEqual(new Set());
      await progress.flush(at, { ...flushOf('a', [0, 2], [1, 3]), whole: [id] });
      expect(await marked(at)).toEqual(new Set());
    });

    it('stores the ranges of parked webhooks with their flush, and nothing of a refused flush', async () => {
      const nothing = { ranges: new Map(), replays: new Map(), dropped: [], next: 0 };
      await progress.own(at, 'a', { ...TAKE, start: 0 });
      expect(await progress.parking(at)).toEqual(nothing);
      const ranges = [{ from: 2, to: 5 }, { from: 9 }];
      const parking = {
        changed: new Map([
          ['w1', ranges],
          ['w2', [{ from: 3 }]],
          ['w1/1000', [{ from: 0, to: 4 }]],
        ]),
        replays: new Map([['w1/1000', { done: 2, failed: 1 }]]),
        dropped: [3, 4, 10],
        keptFrom: 2,
        next: 11,
      };
      expect(await progress.flush(at, { ...flushOf('b', [0, 1], [1, 2]), parking })).toBe(false);
      expect(await progress.parking(at)).toEqual(nothing);
      await progress.flush(at, { ...flushOf('a', [0, 1], [1, 2]), parking });
      await progress.flush(at, flushOf('a', [1, 2], [1, 3]));
      expect(await progress.parking(at)).toEqual({
        ...parking,
        ranges: parking.changed,
        changed: undefined,
        keptFrom: undefined,
      });
      expect(await progress.parking({ ...at, topic: 'task.updated' })).toEqual(nothing);
      const ended = new Map([['w1/1000', { done: 3, failed: 1 }]]);
      const less = {
        changed: new Map([
          ['w1', []],
          ['w1/1000', []],
        ]),
        replays: ended,
        dropped: [12],
        keptFrom: 4,
        next: 13,
      };
      await progress.flush(at, { ...flushOf('a', [1, 3], [2, 4]), parking: less });
      expect(await progress.parking(at)).toEqual({
        ranges: new Map([['w2', [{ from: 3 }]]]),
        replays: new Map(),
        dropped: [4, 10, 12],
        next: 13,
      });
      const lost = { changed: new Map(), replays: new Map(), dropped: [11], keptFrom: 4, lostFrom: 10, next: 13 };
      await progress.flush(at, { ...flushOf('a', [2, 4], [2, 5]), parking: lost });
      expect((await progress.parking(at)).dropped).toEqual([4, 11]);
      const none = { changed: new Map([['w2', []]]), replays: new Map(), dropped: [], keptFrom: undefined, next: 13 };
      await progress.flush(at, { ...flushOf('a', [2, 5], [2, 6]), parking: none });
      expect(await progress.parking(at)).toEqual({ ...nothing, next: 13 });
    });

    it('returns the version of the registrations with each look-up', async () => {
      await harness.setRegistryVersion(12);
      expect(await progress.lookUp(at, [])).toEqual({ results: [], registryVersion: 12 });
    });
  });
}
