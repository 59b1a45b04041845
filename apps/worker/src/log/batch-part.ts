import type { LogRecord } from '@relay/events';
import type { RecordHandle } from './log-chunk.js';
import type { PartitionReader } from './partition-reader.js';

/** What one reader takes of a batch, for as long as it reads on from where it was when it met the batch. */
export class BatchPart {
  readonly #restarts: number;

  constructor(readonly reader: PartitionReader) {
    this.#restarts = reader.restarts;
  }

  get goesOn(): boolean {
    return this.reader.state === 'reading' && this.reader.restarts === this.#restarts;
  }

  /** Next offset to hand out. */
  get next(): number {
    return this.reader.next ?? 0;
  }

  accept({ offset, timestamp }: LogRecord): RecordHandle | undefined {
    return this.reader.accept(offset, this.#restarts, timestamp);
  }

  /** All that is below this offset was handed out, or belongs to other shards. */
  ended(offset: number): void {
    this.reader.passed(offset, this.#restarts);
  }
}
