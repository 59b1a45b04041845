import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { LogControls } from './log-reader-options.js';
import type { PartitionReader } from './partition-reader.js';

/**
 * The group's committed offsets, for lag tools and to recognize a lost Redis. They are one interval old, so that a Redis
 * that loses its latest writes still knows every partition with a commit.
 */
export class LogCommits {
  #committed = new WeakMap<PartitionReader, number>();
  readonly #ripening = new WeakMap<PartitionReader, number>();

  constructor(private readonly log: ThrottledLog) {}

  /** The partition is read from an earlier offset, and kafkajs may have reset its commit. */
  forget(reader: PartitionReader): void {
    this.#committed.delete(reader);
    this.#ripening.delete(reader);
  }

  async write(readers: readonly PartitionReader[], all: boolean, controls: Pick<LogControls, 'commit'>): Promise<void> {
    const offsets = readers.flatMap((reader) => {
      const highWater = reader.highWater;
      if (highWater === undefined) return [];
      const ripe = all ? highWater : Math.min(highWater, this.#ripening.get(reader) ?? 0);
      this.#ripening.set(reader, highWater);
      if (ripe <= (this.#committed.get(reader) ?? 0)) return [];
      this.#committed.set(reader, ripe);
      return [{ ...reader.at, offset: String(ripe) }];
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
