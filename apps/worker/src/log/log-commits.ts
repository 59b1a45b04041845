import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { LogControls } from './log-reader-options.js';
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

  /** Forgets the commit of a partition that is read from an earlier offset: kafkajs may have reset it. */
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
