import type { SeenEntry } from '@relay/dedupe';
import type { LogRecord } from '@relay/events';
import type { LogPartition, PartialMark } from '@relay/progress';

/** Pattern under which the transport hands chunks of the log to the fan-out. */
export const LOG_CHUNK = 'log.chunk';

/** Repeats a confirmed add to the queue; harmless, because its id is there already unless the store has lost it. */
export type StoreAgain = () => Promise<void>;

/** What whoever runs a record says of it. */
export interface RecordHandle {
  /** An add of it was confirmed: to be repeated should Redis lose its latest writes before the next flush. */
  added(repeat: StoreAgain): void;
  /** The record waits in the log for this webhook: it is not delivered to it now. */
  isParked(webhookId: string): boolean;
  /** From this record on everything waits in the log for this webhook; said before anything of the record is begun. */
  park(webhookId: string): void;
  /** The record is a repeat or a conflict, so that whoever it waits for does not get it either; said at once. */
  dropped(): void;
  /** A partial mark of the record's envelope that was found written. */
  marked(mark: PartialMark): void;
  /** One webhook of the record's envelope is settled while others run. */
  partially(envelopeId: string, webhookId: string): void;
  /** Everything of the record is settled, once; `mark` is written for its envelope, if it has one. */
  settled(mark?: SeenEntry): void;
}

/** Some consecutive records of one partition, to be handed out in their order. */
export interface LogChunk {
  at: LogPartition;
  records: readonly LogRecord[];
  /** Starts a record; undefined when it was handed out before. */
  accept(record: LogRecord): RecordHandle | undefined;
  /** This worker has settled the envelope, and its mark may be on its way still. */
  isSettled(entry: SeenEntry): boolean;
  /**
   * Waits for something while the group is told that this member lives. False when the partition may be leaving or
   * the process stops: nothing more is to be handed out then.
   */
  during(waiting: Promise<unknown>): Promise<boolean>;
}
