import type { LogPartition, PartitionProgress } from '@relay/progress';
import type { LogBounds, LogReaderOptions } from './log-reader-options.js';

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
    const committed = await this.bounds.fetchOffsets({ groupId, topics: [...topics] }).catch(() => []);
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
