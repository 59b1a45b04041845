import type { SeenEntry } from '@relay/dedupe';
import type { Flush, LogPartition, LookUp } from '@relay/progress';
import { MemoryPartitionProgress, type MemoryState } from '@relay/testing';

/**
 * A wrong design, which the model must find: the high water of all shards is kept in the first one, away from the marks and jobs that
 * it counts. A shard that goes back loses jobs of records that nobody reads again.
 */
export class OneHighWater extends MemoryPartitionProgress {
  readonly #marks: MemoryPartitionProgress;

  constructor(
    private readonly shard: MemoryState,
    first: MemoryState,
  ) {
    super(first);
    this.#marks = new MemoryPartitionProgress(shard);
  }

  override lookUp(at: LogPartition, entries: readonly SeenEntry[]): Promise<LookUp> {
    return this.#marks.lookUp(at, entries);
  }

  override async flush(at: LogPartition, flush: Flush): Promise<boolean> {
    this.shard.write(({ marks }) => {
      for (const { id, hash } of flush.settled) marks.set(id, { state: 'settled', hash });
    });
    return super.flush(at, { ...flush, settled: [] });
  }
}
