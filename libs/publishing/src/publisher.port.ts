/** One record on its way to Kafka. */
export interface OutgoingRecord {
  readonly topic: string;
  /** Decides the partition, hence what keeps its order. */
  readonly key: string;
  /** The very bytes that are stored. */
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  /** Only for what must not be placed by its key, such as a record put back beside another one. */
  readonly partition?: number;
}

/**
 * - `unavailable`: no broker took it, or its topic does not exist
 * - `overloaded`: too much is waiting already; nothing was sent
 * - `timeout`: no acknowledgement within the deadline
 * - `refused`: the broker will not have it, such as a record too large
 */
export type PublishFailureReason = 'unavailable' | 'overloaded' | 'timeout' | 'refused';

/** A record without an acknowledgement. It may be in the log all the same, unless the reason is `overloaded` or `refused`. */
export class PublishFailed extends Error {
  /** Whether the same record may succeed later. */
  readonly retryable: boolean;

  constructor(
    readonly reason: PublishFailureReason,
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
    this.name = 'PublishFailed';
    this.retryable = reason !== 'refused';
  }
}

/** Appends records to the log. */
export abstract class Publisher {
  /**
   * Resolves when every in-sync replica has the record (acks=all). Records of one topic and key are stored in the order
   * of these calls. Repeating a failed call can store the record twice; consumers drop the repeat by its envelope id.
   * Never creates a topic.
   * @returns the record's offset in its partition; undefined when the broker did not tell it
   * @throws PublishFailed within 8 s (6.5 s, and 1.5 s to look for a topic that is new), whatever the broker does
   */
  abstract publish(record: OutgoingRecord): Promise<number | undefined>;

  /** `connected`, or in words why records are not stored just now. Costs nothing: it is what the last requests showed. */
  abstract get state(): string;

  /** Takes no more records, waits for those on their way, then leaves the brokers. */
  abstract close(): Promise<void>;
}
