import type { SeenEntry } from '@relay/dedupe';
import type { LogRecord } from '@relay/events';
import type { LogPartition, PartialMark } from '@relay/progress';

/** The Nest pattern under which the transport hands chunks of the log to the fan-out. */
export const LOG_CHUNK = 'log.chunk';

/** Stores a job or dead letter again. Harmless: its id is there already unless the store has lost it. */
export type StoreAgain = () => Promise<void>;

/** One record that was handed out, until all of it is settled. */
export interface RecordHandle {
  /** Whether an earlier owner, or this worker before it began anew, may have handed the record out. */
  readonly isReadAgain: boolean;
  /**
   * A job or dead letter of the record is confirmed; it is stored again if Redis loses its latest writes before the
   * next flush.
   */
  added(again: StoreAgain): void;
  /** Whether the record waits in the log for this webhook. */
  isParked(webhookId: string): boolean;
  /**
   * Parks the webhook from this record on. Only before a delivery of the record has begun.
   * @param notice line that tells its partner, stored with the range
   */
  park(webhookId: string, notice?: string): void;
  /**
   * The record is a repeat or a conflict, so a parked webhook does not get it later either. Called while it is handed
   * out.
   */
  markDuplicate(): void;
  /** The record's envelope runs from now on. */
  begun(entry: SeenEntry): void;
  /** The store has this partial mark of the record's envelope. */
  marked(mark: PartialMark): void;
  /** One webhook of the envelope is settled while others run. */
  webhookSettled(envelopeId: string, webhookId: string): void;
  /** All of the record is settled. Called once; `mark` is written for its envelope, if it has one. */
  settled(mark?: SeenEntry): void;
}

/** Consecutive records of one partition, to be handed out in their order. */
export interface LogChunk {
  readonly records: readonly LogRecord[];
  /** Those that may be handed out now; the records of the other shards wait. */
  readonly parts: readonly ChunkPart[];
}

/** What belongs to one shard of a chunk. */
export interface ChunkPart {
  readonly at: LogPartition;
  /** Takes a record up; undefined when it was handed out before. */
  accept(record: LogRecord): RecordHandle | undefined;
  /** The content hash of an envelope that runs here, or is settled and not known to be marked yet. */
  hashOf(envelopeId: string): string | undefined;
  /**
   * Waits for a value while the group gets heartbeats. Undefined when the partition may be leaving, its store is away, the
   * process stops or the promise was rejected: nothing more may be handed out then.
   */
  during<T>(waiting: Promise<T>): Promise<{ readonly value: T } | undefined>;
  /**
   * As `during`, for an answer of the store. One that takes longer than a second counts as away where other shards wait for the part: its
   * reader asks where it stands, and the others go on.
   */
  answered<T>(answer: Promise<T>): Promise<{ readonly value: T } | undefined>;
  /** All records of the part were taken up. */
  ended(): void;
}
