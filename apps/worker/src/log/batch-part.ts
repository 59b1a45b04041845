import type { LogRecord } from '@relay/events';
import { leaderEpochOf } from '@relay/kafka';
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

  /**
   * Whether another leader wrote the record that is taken next than the one before it. Then Kafka may have lost records that were
   * read, and others stand in their place; while one leader goes on it keeps all of them (KIP-320).
   */
  hasOtherLeader(messages: readonly KafkaMessage[]): boolean {
    const first = this.#first(messages);
    const isOther = first !== undefined && leaderEpochOf(first) !== this.reader.leaderEpoch;
    return isOther && this.reader.read.newest > 0;
  }

  /** The log was compared after these were fetched. */
  compared(messages: readonly KafkaMessage[]): void {
    this.#follow(this.#first(messages));
  }

  #first(messages: readonly KafkaMessage[]): KafkaMessage | undefined {
    const { next } = this;
    return messages.find(({ offset }) => Number(offset) >= next);
  }

  #follow(message: KafkaMessage | undefined): void {
    if (message !== undefined) this.reader.leaderEpoch = leaderEpochOf(message);
  }

  accept({ offset, timestamp }: LogRecord): RecordHandle | undefined {
    return this.reader.accept(offset, this.#restarts, timestamp);
  }

  /** These were handed out, or belong to other shards. */
  ended(messages: readonly KafkaMessage[]): void {
    const time = Math.max(...messages.map(({ timestamp }) => Number(timestamp)));
    this.reader.passed(Number(messages.at(-1)?.offset) + 1, this.#restarts, time);
    if (this.goesOn) this.#follow(messages.at(-1));
  }
}
