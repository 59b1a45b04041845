import type { LogPartition, PartitionProgress } from '@relay/progress';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { LogBounds, LogControls, LogReaderOptions } from './log-reader-options.js';
import type { PartitionReader } from './partition-reader.js';

/** The readers of one partition, one for each shard. */
export type PartitionReaders = readonly PartitionReader[];

/**
 * The group's committed offsets, for lag tools and to recognize a lost Redis. They are one interval old, so that a Redis
 * that loses its latest writes still knows every partition with a commit.
 */
export class LogCommits {
  #committed = new WeakMap<PartitionReaders, number>();
  readonly #ripening = new WeakMap<PartitionReaders, number>();

  constructor(private readonly log: ThrottledLog) {}

  /** Forgets the commit of a partition that is read from an earlier offset: the member may have reset it. */
  forget(readers: PartitionReaders): void {
    this.#committed.delete(readers);
    this.#ripening.delete(readers);
  }

  /** Commits an offset of a partition once all of its readers have settled the records below it. */
  async write(
    partitions: readonly PartitionReaders[],
    all: boolean,
    controls: Pick<LogControls, 'commit'>,
  ): Promise<void> {
    const offsets = partitions.flatMap((readers) => {
      const settledTo = Math.min(...readers.map((reader) => reader.settledTo ?? -1));
      const [first] = readers;
      if (settledTo === -1 || first === undefined) return [];
      const ripe = all ? settledTo : Math.min(settledTo, this.#ripening.get(readers) ?? 0);
      this.#ripening.set(readers, settledTo);
      if (ripe <= (this.#committed.get(readers) ?? 0)) return [];
      this.#committed.set(readers, ripe);
      const { topic, partition } = first.at;
      return [{ topic, partition, offset: String(ripe) }];
    });
    if (offsets.length === 0) return;
    try {
      await controls.commit(offsets);
    } catch (error) {
      this.#committed = new WeakMap();
      this.log.warn(
        'log.commit_failed',
        'Offsets were not committed; the next commit covers them, nothing depends on it',
        { reason: reasonOf(error) },
      );
    }
  }
}

/**
 * Stores in each shard of Redis, once, that it knows every partition that was read. This distinguishes a Redis that was restored
 * from an older copy from one that was lost: both miss a partition that was read, but only the copy has this stored.
 */
export class KnownPartitions {
  readonly #shards: readonly number[];
  #open: Set<number>;

  constructor(
    private readonly bounds: Pick<LogBounds, 'fetchOffsets'>,
    private readonly progress: Pick<PartitionProgress, 'rememberKnown'>,
    private readonly options: Pick<LogReaderOptions, 'groupId' | 'topics' | 'shards'>,
  ) {
    this.#shards = Array.from({ length: options.shards ?? 1 }, (_, shard) => shard);
    this.#open = new Set(this.#shards);
  }

  /**
   * Makes `remember` store the fact again: a reconnected Redis may be another one. @param shard shard of the connection;
   * undefined for all
   */
  doubt(shard?: number): void {
    this.#open = new Set(shard === undefined ? this.#shards : [...this.#open, shard]);
  }

  /** Stores the fact in each shard that does not have it. A store that is away is asked at the next call. */
  async remember(): Promise<void> {
    if (this.#open.size === 0) return;
    const { groupId, topics } = this.options;
    const committed = await this.bounds.fetchOffsets({ groupId, topics: [...topics()] }).catch(() => []);
    for (const shard of this.#open) {
      const of = (topic: string, partition: number): LogPartition =>
        this.#shards.length === 1 ? { topic, partition } : { topic, partition, shard };
      const read = committed.flatMap(({ topic, partitions }) =>
        partitions.filter(({ offset }) => Number(offset) > 0).map(({ partition }) => of(topic, partition)),
      );
      if (read.length > 0 && (await this.progress.rememberKnown(read).catch(() => false))) this.#open.delete(shard);
    }
  }
}
