export interface OutgoingRecord {
  readonly topic: string;
  /** Determines the partition, so records with the same key are stored in order. */
  readonly key: string;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Partition to use instead of the key's one, for example if a record is stored again in the partition of another record.
   */
  readonly partition?: number;
}

/**
 * - `unavailable`: no broker stored the record, or its topic does not exist
 * - `overloaded`: too many records already wait; the record was not sent
 * - `timeout`: there was no acknowledgement within the deadline
 * - `refused`: the broker refuses the record itself, for example because it is too large
 */
export type PublishFailureReason = 'unavailable' | 'overloaded' | 'timeout' | 'refused';

/**
 * The record was not acknowledged. Kafka may have stored it nevertheless, unless the reason is `overloaded` or `refused`.
 */
export class PublishFailed extends Error {
  /** Whether a repeat of the same record may succeed. */
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
   * Publishes a record. Resolves when every in-sync replica has the record (acks=all). Records of one topic and key are
   * stored in the order of the calls. If a failed call is repeated, the record may be stored twice; consumers drop the
   * second one by its envelope id. It never creates a topic.
   * @returns the offset of the record in its partition; undefined if the broker's answer has no offset
   * @throws PublishFailed within 8 s in any case (6.5 s, and 1.5 s to look for a topic that is new to this process)
   */
  abstract publish(record: OutgoingRecord): Promise<number | undefined>;

  /**
   * Looks for these topics in advance, so that their first records do not spend part of their time on it. A topic that does
   * not exist is ignored.
   * @throws PublishFailed if no broker answers
   */
  abstract learn(topics: readonly string[]): Promise<void>;

  /**
   * Says which Kafka cluster the deployment belongs to. Brokers of another cluster get no more records.
   * @param _cluster id of the cluster; null if the cluster has no id, and then no broker is excluded
   */
  belongsTo(_cluster: string | null): void {}

  /** `connected`, or a description of why records cannot be stored now. It is based on the last requests. */
  abstract get state(): string;

  /** Refuses new records, waits for the answers to records that were already accepted, then disconnects. */
  abstract close(): Promise<void>;
}
