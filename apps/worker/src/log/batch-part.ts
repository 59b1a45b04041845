import type { LogRecord } from '@relay/events';
import type { KafkaMessage } from 'kafkajs';
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

  /** As `goesOn`, for so many milliseconds from now: a reader whose store has not answered by then asks it anew where it stands. */
  goesOnFor(ms: number): () => boolean {
    const end = performance.now() + ms;
    return () => {
      if (this.goesOn && performance.now() > end) this.reader.doubt();
      return this.goesOn;
    };
  }

  /** Next offset to hand out. */
  get next(): number {
    return this.reader.next ?? 0;
  }

  accept({ offset, timestamp }: LogRecord): RecordHandle | undefined {
    return this.reader.accept(offset, this.#restarts, timestamp);
  }

  /** These were handed out, or belong to other shards. */
  ended(messages: readonly KafkaMessage[]): void {
    const time = Math.max(...messages.map(({ timestamp }) => Number(timestamp)));
    this.reader.passed(Number(messages.at(-1)?.offset) + 1, this.#restarts, time);
  }
}
