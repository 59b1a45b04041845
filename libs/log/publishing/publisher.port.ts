export interface OutgoingRecord {
  readonly topic: string;
  /** Chooses the partition: records of one key keep their order. */
  readonly key: string;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  /** Only for a record that its key must not place, such as one that is stored again beside another. */
  readonly partition?: number;
}

/**
 * - `unavailable`: no broker took it, or its topic does not exist
 * - `overloaded`: too many records wait already; it was not sent
 * - `timeout`: no acknowledgement within the deadline
 * - `refused`: the broker refuses the record itself, such as one that is too large
 */
export type PublishFailureReason = 'unavailable' | 'overloaded' | 'timeout' | 'refused';

/** A record was not acknowledged. The log may still have it, unless the reason is `overloaded` or `refused`. */
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

export abstract class Publisher {
  /**
   * Resolves when every in-sync replica has the record (acks=all). Records of one topic and key are stored in order of their
   * calls. Repeating a failed call can store the record twice; consumers drop the second by its envelope id. Never creates a
   * topic.
   * @returns the record's offset in its partition; undefined when the broker's answer has none
   * @throws PublishFailed within 8 s (6.5 s, and 1.5 s to look for a new topic), whatever the broker does
   */
  abstract publish(record: OutgoingRecord): Promise<number | undefined>;

  /**
   * Finds these topics before their first records, which then have the whole of the 6.5 s. A missing topic is left out.
   * @throws PublishFailed when no broker answers
   */
  abstract learn(topics: readonly string[]): Promise<void>;

  /** Brokers of another cluster get no record from now on. @param _cluster its id; null if it has none, and all get records */
  belongsTo(_cluster: string | null): void {}

  /** `connected`, or in words why records are not stored now, by the outcome of the last requests. */
  abstract get state(): string;

  /** Refuses further records, waits for those in flight, then disconnects. */
  abstract close(): Promise<void>;
}
