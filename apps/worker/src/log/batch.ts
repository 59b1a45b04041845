import type { LogRecord } from '@relay/events';
import type { BatchInHand, FetchedBatch, KafkaMessage } from '@relay/kafka';
import type { LogPartition } from '@relay/progress';
import type { PartitionReader } from './partition-reader.js';
import type { PartitionRecord } from './pending-writes.js';

/** Nest pattern under which the Kafka transport passes chunks of the log to the fan-out. */
export const LOG_CHUNK = 'log.chunk';

/** Consecutive records of one partition. They must be dispatched in their order. */
export interface LogChunk {
  readonly records: readonly LogRecord[];
  /** One part for each shard whose records may be dispatched now. The records of other shards wait. */
  readonly parts: readonly BatchPart[];
}

/** Milliseconds after which a shard that does not answer no longer delays the records of the other shards. */
const PATIENCE_MS = 1_000;

/**
 * The part of a fetched batch that belongs to one reader. It is valid until that reader restarts at another offset. If there
 * is only one shard, the part is the whole batch.
 */
export class BatchPart {
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

  /** Next offset to dispatch. */
  get next(): number {
    return this.reader.next ?? 0;
  }

  /**
   * Whether Kafka may have lost records that were already read. A newly elected leader may report an end that is too low.
   */
  isDoubtful({ highWatermark, messages }: FetchedBatch): boolean {
    return Number(highWatermark) < this.next || this.#hasOtherLeader(messages);
  }

  /**
   * Whether the next record was written under another leader than the record before it. In that case, Kafka may have
   * replaced records that were already read. A leader that has not changed keeps all records (KIP-320).
   */
  #hasOtherLeader(messages: readonly KafkaMessage[]): boolean {
    const first = this.#first(messages);
    const isOther = first !== undefined && first.batchContext?.partitionLeaderEpoch !== this.reader.leaderEpoch;
    return isOther && this.reader.read.newest > 0;
  }

  /** Stores the leader of the next record, after the log was checked for lost records. */
  compared({ messages }: FetchedBatch): void {
    this.#follow(this.#first(messages));
  }

  #first(messages: readonly KafkaMessage[]): KafkaMessage | undefined {
    const { next } = this;
    return messages.find(({ offset }) => Number(offset) >= next);
  }

  #follow(message: KafkaMessage | undefined): void {
    if (message !== undefined) this.reader.leaderEpoch = message.batchContext?.partitionLeaderEpoch;
  }

  /** Starts to dispatch a chunk. @param isAwaited whether the other shards wait for this part */
  begin(chunk: readonly KafkaMessage[], isAwaited: boolean): void {
    this.#chunk = chunk;
    this.#isAwaited = isAwaited;
  }

  /** Starts a record. Returns undefined if the record was dispatched before. */
  accept({ offset, timestamp }: LogRecord): PartitionRecord | undefined {
    return this.reader.accept(offset, this.#restarts, timestamp);
  }

  /** Returns the content hash of an envelope that is in flight, or is settled but not yet confirmed as written to Redis. */
  hashOf(envelopeId: string): string | undefined {
    return this.reader.hashOf(envelopeId);
  }

  /**
   * Waits for a promise while heartbeats are sent to the consumer group. Resolves with undefined if no more records may be
   * dispatched: the partition may be moving to another worker, its Redis is unavailable, the process stops, or the promise
   * rejects.
   */
  during<T>(waiting: Promise<T>): Promise<{ readonly value: T } | undefined> {
    return this.wait.for(waiting, this);
  }

  /**
   * Waits like `during`, for an answer of Redis. If the other shards wait for this part, Redis counts as unavailable after a
   * second. Then the reader must confirm its position again, and the other shards continue.
   */
  answered<T>(answer: Promise<T>): Promise<{ readonly value: T } | undefined> {
    if (!this.#isAwaited) return this.during(answer);
    const end = performance.now() + PATIENCE_MS;
    return this.wait.for(answer, this, () => {
      // The reader confirms its position with Redis again.
      if (this.goesOn && performance.now() > end) this.reader.doubt();
    });
  }

  /** Ends the part after all of its records were started. */
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

/** Interval in ms at which a wait sends a heartbeat and checks whether it must end. */
const LOOK_MS = 500;

const ALWAYS = { goesOn: true };

/** Waits while a batch is being processed, and sends heartbeats. Without them, the consumer group removes this consumer. */
export class HeartbeatWait {
  #fault: Error | undefined;

  constructor(
    private readonly payload: Pick<BatchInHand, 'heartbeat'>,
    private readonly isStopping: () => boolean,
  ) {}

  /**
   * Waits for a promise.
   * @param reason the wait ends when `goesOn` becomes false
   * @param looking called at each interval before the check
   * @returns the value; undefined if the promise rejected, `reason` ended the wait, the process stops or a heartbeat failed
   */
  for<T>(
    waiting: Promise<T>,
    reason: { readonly goesOn: boolean } = ALWAYS,
    looking?: () => void,
  ): Promise<{ readonly value: T } | undefined> {
    return new Promise((resolve) => {
      const isOver = (): boolean => this.isStopping() || !reason.goesOn;
      const end = (result?: { readonly value: T }): void => {
        clearInterval(timer);
        resolve(isOver() ? undefined : result);
      };
      const timer = setInterval(() => {
        looking?.();
        if (isOver()) end();
        else void this.#beat().then((isAlive) => isAlive || end());
      }, LOOK_MS);
      waiting.then(
        (value) => end({ value }),
        () => end(),
      );
    });
  }

  async #beat(): Promise<boolean> {
    try {
      await this.payload.heartbeat();
      return true;
    } catch (error) {
      this.#fault ??= error instanceof Error ? error : new Error(String(error));
      return false;
    }
  }

  /** Passes a failed heartbeat on to the Kafka client, which handles it. @throws the error of the first failed heartbeat */
  throwFault(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }
}
