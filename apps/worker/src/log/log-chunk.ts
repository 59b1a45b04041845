import type { SeenEntry } from '@relay/dedupe';
import type { LogRecord } from '@relay/events';
import type { LogPartition, PartialMark } from '@relay/progress';

/** The Nest pattern under which the transport hands chunks of the log to the fan-out. */
export const LOG_CHUNK = 'log.chunk';

/** Stores a job or dead letter again. A repeat is harmless: its id is there already unless the store has lost it. */
export type StoreAgain = () => Promise<void>;

/** One record that was handed out, until all of it is settled. */
export interface RecordHandle {
  /** Whether an earlier owner, or this worker before a restart of reading, may have handed the record out. */
  readonly isReadAgain: boolean;
  /**
   * Adds a confirmed job or dead letter of the record. It is stored again if Redis loses its latest writes before the next flush.
   */
  added(again: StoreAgain): void;
  /** Whether the record waits in the log for this webhook. */
  isParked(webhookId: string): boolean;
  /**
   * Parks the webhook from this record on. Called only before a delivery of the record has begun.
   * @param notice notice to its partner, as a line that is stored with the range
   */
  park(webhookId: string, notice?: string): void;
  /** Marks the record as a repeat or conflict, so that no parked webhook gets it later. Called while it is handed out. */
  markDuplicate(): void;
  /** Marks the record's envelope as running. */
  begun(entry: SeenEntry): void;
  /** Takes over the partial mark that the store has of the record's envelope. */
  marked(mark: PartialMark): void;
  /** Settles one webhook of the envelope while others run. */
  webhookSettled(envelopeId: string, webhookId: string): void;
  /** Settles the record. Called once; `mark` is written for its envelope, if it has one. */
  settled(mark?: SeenEntry): void;
}

/** Consecutive records of one partition, to be handed out in their order. */
export interface LogChunk {
  readonly records: readonly LogRecord[];
  /** Parts that may be handed out now; the records of other shards wait. */
  readonly parts: readonly ChunkPart[];
}

/** The part of a chunk that belongs to one shard. */
export interface ChunkPart {
  readonly at: LogPartition;
  /** Takes a record up; returns undefined if it was handed out before. */
  accept(record: LogRecord): RecordHandle | undefined;
  /** The content hash of an envelope that runs here, or is settled and not known to be marked yet. */
  hashOf(envelopeId: string): string | undefined;
  /**
   * Waits for a value while the group gets heartbeats. Resolves with undefined if the partition may be leaving, its store is
   * away, the process stops or the promise was rejected: nothing more may be handed out then.
   */
  during<T>(waiting: Promise<T>): Promise<{ readonly value: T } | undefined>;
  /**
   * Waits like `during`, for an answer of the store. If other shards wait for the part, a store that takes longer than a second
   * counts as away: the reader asks it for its position again, and the other shards go on.
   */
  answered<T>(answer: Promise<T>): Promise<{ readonly value: T } | undefined>;
  /** Ends the part once all of its records were taken up. */
  ended(): void;
}
