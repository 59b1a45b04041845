import type { LogPartition, PartitionProgress } from '@relay/progress';
import type { LogBounds, LogReaderOptions } from './log-reader-options.js';

/**
 * Has each shard of Redis remember, once, that it knows every partition that was read. This tells a Redis that was restored from an
 * older copy from one that was lost: both miss a partition that was read, and only the copy remembers that it missed none.
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

  /** Redis was reconnected: it may be another one by now. @param shard the one whose connection it was; all where they share one */
  doubt(shard?: number): void {
    this.#open = new Set(shard === undefined ? this.#shards : [...this.#open, shard]);
  }

  /** Does nothing for a shard that remembers. A store that is away is asked at the next call. */
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
