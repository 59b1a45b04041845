import type { LogPartition, PartitionProgress } from '@relay/progress';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { LogBounds, LogControls, LogReaderOptions } from './log-reader-options.js';
import type { PartitionReader } from './partition-reader.js';

/** The readers of one partition. There is one reader for each shard. */
export type PartitionReaders = readonly PartitionReader[];

/**
 * Commits offsets to the consumer group. They are used by tools that show the lag, and to detect that Redis lost its data.
 * Each offset is committed one interval after Redis has stored it. So if Redis loses its writes of the last moments, it
 * still knows every partition that has a commit, and this is not mistaken for a loss of all data.
 */
export class LogCommits {
  #committed = new WeakMap<PartitionReaders, number>();
  readonly #ripening = new WeakMap<PartitionReaders, number>();

  constructor(private readonly log: ThrottledLog) {}

  /**
   * Removes the last commit of a partition from memory. The partition is read from an earlier offset, so Kafka may have
   * reset it.
   */
  forget(readers: PartitionReaders): void {
    this.#committed.delete(readers);
    this.#ripening.delete(readers);
  }

  /** Commits the offset of each partition below which all of its readers have settled all records. */
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
 * Stores once in each shard of Redis that it knows the progress of every partition that was read. If a partition is missing
 * in Redis later, this fact shows why. It is there if Redis was restored from an older backup, and missing if Redis lost its
 * data.
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
   * Makes `remember` store the fact again, because a reconnected Redis may have other data.
   * @param shard shard that was reconnected; undefined for all shards
   */
  doubt(shard?: number): void {
    this.#open = new Set(shard === undefined ? this.#shards : [...this.#open, shard]);
  }

  /** Stores the fact in each shard that does not have it yet. If a shard is unavailable, the next call tries again. */
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
