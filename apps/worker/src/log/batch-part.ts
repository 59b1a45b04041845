import type { LogRecord } from '@relay/events';
import { leaderEpochOf } from '@relay/kafka';
import type { LogPartition } from '@relay/progress';
import type { Batch, KafkaMessage } from 'kafkajs';
import type { HeartbeatWait } from './heartbeat-wait.js';
import type { ChunkPart, RecordHandle } from './log-chunk.js';
import type { PartitionReader } from './partition-reader.js';

/** Time in ms after which a shard without an answer no longer holds up the records of the others. */
const PATIENCE_MS = 1_000;

/** The part of a batch that one reader takes, until that reader restarts at another offset. */
export class BatchPart implements ChunkPart {
  readonly #restarts: number;
  #chunk: readonly KafkaMessage[] = [];
  #isAwaited = false;

  constructor(
    readonly reader: PartitionReader,
    private readonly wait: HeartbeatWait,
  ) {
    this.#restarts = reader.restarts;
  }

  get at(): LogPartition {
    return this.reader.at;
  }

  get goesOn(): boolean {
    return this.reader.state === 'reading' && this.reader.restarts === this.#restarts;
  }

  /** Next offset to hand out. */
  get next(): number {
    return this.reader.next ?? 0;
  }

  /** Whether Kafka may have lost records that were read. A leader that was just elected may report too low an end. */
  isDoubtful({ highWatermark, messages }: Batch): boolean {
    return Number(highWatermark) < this.next || this.#hasOtherLeader(messages);
  }

  /**
   * Whether the next record has another leader than the record before it. If so, other records may have replaced those that were
   * read; a leader that stays keeps all of them (KIP-320).
   */
  #hasOtherLeader(messages: readonly KafkaMessage[]): boolean {
    const first = this.#first(messages);
    const isOther = first !== undefined && leaderEpochOf(first) !== this.reader.leaderEpoch;
    return isOther && this.reader.read.newest > 0;
  }

  /** Takes the leader of the next record as known, after the log was compared. */
  compared({ messages }: Batch): void {
    this.#follow(this.#first(messages));
  }

  #first(messages: readonly KafkaMessage[]): KafkaMessage | undefined {
    const { next } = this;
    return messages.find(({ offset }) => Number(offset) >= next);
  }

  #follow(message: KafkaMessage | undefined): void {
    if (message !== undefined) this.reader.leaderEpoch = leaderEpochOf(message);
  }

  /** Begins to hand out a chunk. @param isAwaited whether the parts of other shards wait for this part */
  begin(chunk: readonly KafkaMessage[], isAwaited: boolean): void {
    this.#chunk = chunk;
    this.#isAwaited = isAwaited;
  }

  accept({ offset, timestamp }: LogRecord): RecordHandle | undefined {
    return this.reader.accept(offset, this.#restarts, timestamp);
  }

  hashOf(envelopeId: string): string | undefined {
    return this.reader.hashOf(envelopeId);
  }

  during<T>(waiting: Promise<T>): Promise<{ readonly value: T } | undefined> {
    return this.wait.for(waiting, this);
  }

  answered<T>(answer: Promise<T>): Promise<{ readonly value: T } | undefined> {
    if (!this.#isAwaited) return this.during(answer);
    const end = performance.now() + PATIENCE_MS;
    return this.wait.for(answer, this, () => {
      // The reader asks its store for its position again.
      if (this.goesOn && performance.now() > end) this.reader.doubt();
    });
  }

  ended(): void {
    const last = this.#chunk.at(-1);
    if (last === undefined) return;
    if (!this.reader.isAlone) {
      const time = Math.max(...this.#chunk.map(({ timestamp }) => Number(timestamp)));
      this.reader.passed(Number(last.offset) + 1, this.#restarts, time);
    }
    if (this.goesOn) this.#follow(last);
  }
}
