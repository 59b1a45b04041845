import type { LogRecord } from '@relay/events';
import type { BatchInHand, FetchedBatch, KafkaMessage } from '@relay/kafka';
import type { LogPartition } from '@relay/progress';
import type { PartitionReader } from './partition-reader.js';
import type { PartitionRecord } from './pending-writes.js';

/** The Nest pattern under which the transport hands chunks of the log to the fan-out. */
export const LOG_CHUNK = 'log.chunk';

/** Consecutive records of one partition, to be handed out in their order. */
export interface LogChunk {
  readonly records: readonly LogRecord[];
  /** Parts that may be handed out now; the records of other shards wait. */
  readonly parts: readonly BatchPart[];
}

/** Time in ms after which a shard without an answer no longer holds up the records of the others. */
const PATIENCE_MS = 1_000;

/** The part of a batch that one reader takes, until that reader restarts at another offset. One shard has all of each batch. */
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

  /** Next offset to hand out. */
  get next(): number {
    return this.reader.next ?? 0;
  }

  /** Whether Kafka may have lost records that were read. A leader that was just elected may report too low an end. */
  isDoubtful({ highWatermark, messages }: FetchedBatch): boolean {
    return Number(highWatermark) < this.next || this.#hasOtherLeader(messages);
  }

  /**
   * Whether the next record has another leader than the record before it. If so, other records may have replaced those that were
   * read; a leader that stays keeps all of them (KIP-320).
   */
  #hasOtherLeader(messages: readonly KafkaMessage[]): boolean {
    const first = this.#first(messages);
    const isOther = first !== undefined && first.batchContext?.partitionLeaderEpoch !== this.reader.leaderEpoch;
    return isOther && this.reader.read.newest > 0;
  }

  /** Takes the leader of the next record as known, after the log was compared. */
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

  /** Begins to hand out a chunk. @param isAwaited whether the parts of other shards wait for this part */
  begin(chunk: readonly KafkaMessage[], isAwaited: boolean): void {
    this.#chunk = chunk;
    this.#isAwaited = isAwaited;
  }

  /** Takes a record up; returns undefined if it was handed out before. */
  accept({ offset, timestamp }: LogRecord): PartitionRecord | undefined {
    return this.reader.accept(offset, this.#restarts, timestamp);
  }

  /** The content hash of an envelope that runs here, or is settled and not known to be marked yet. */
  hashOf(envelopeId: string): string | undefined {
    return this.reader.hashOf(envelopeId);
  }

  /**
   * Waits for a value while the group gets heartbeats. Resolves with undefined if the partition may be leaving, its store is
   * away, the process stops or the promise was rejected: nothing more may be handed out then.
   */
  during<T>(waiting: Promise<T>): Promise<{ readonly value: T } | undefined> {
    return this.wait.for(waiting, this);
  }

  /**
   * Waits like `during`, for an answer of the store. If other shards wait for the part, a store that takes longer than a second
   * counts as away: the reader asks it for its position again, and the other shards go on.
   */
  answered<T>(answer: Promise<T>): Promise<{ readonly value: T } | undefined> {
    if (!this.#isAwaited) return this.during(answer);
    const end = performance.now() + PATIENCE_MS;
    return this.wait.for(answer, this, () => {
      // The reader asks its store for its position again.
      if (this.goesOn && performance.now() > end) this.reader.doubt();
    });
  }

  /** Ends the part once all of its records were taken up. */
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

/** Interval in ms at which a wait checks whether its reason still holds. */
const LOOK_MS = 500;

const ALWAYS = { goesOn: true };

/** Waits while the member is within a batch, and sends heartbeats; otherwise the group takes this consumer for dead. */
export class HeartbeatWait {
  #fault: Error | undefined;

  constructor(
    private readonly payload: Pick<BatchInHand, 'heartbeat'>,
    private readonly isStopping: () => boolean,
  ) {}

  /**
   * Waits for as long as `reason` goes on.
   * @param looking is called before each look
   * @returns the value; undefined when the promise was rejected, the reason is gone, the process stops or a heartbeat failed
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

  /** Leaves a heartbeat that failed (rebalance, broker away) to the member. @throws it */
  throwFault(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }
}
