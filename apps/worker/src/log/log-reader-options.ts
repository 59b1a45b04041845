import type { CommittedOffset, KafkaAdmin } from '@relay/kafka';

/** Methods of the Kafka consumer that the reader needs. Both throw while the consumer is not running. */
export interface LogControls {
  seek(topic: string, partition: number, offset: number): void;
  commit(offsets: readonly CommittedOffset[]): Promise<void>;
}

/** Start and end of the log, and committed offsets. They are requested when a partition is assigned. */
export type LogBounds = Pick<KafkaAdmin, 'fetchOffsets' | 'fetchTopicOffsets' | 'fetchTopicOffsetsByTimestamp'>;

/** Kafka's ids of the topics. A topic that is created again gets another id. */
export abstract class TopicIds {
  /**
   * Returns the id of a topic, or undefined if the topic does not exist or the brokers have no topic ids. May return the id
   * of a deleted topic for a short time.
   */
  abstract of(topic: string): Promise<string | undefined>;
}

export const LOG_READER_OPTIONS = Symbol('options of the log reader');

export interface LogReaderOptions {
  groupId: string;
  /** Topics with envelopes, which the consumer group reads. */
  topics: () => readonly string[];
  /** Number of Redis shards. Default: 1. */
  shards?: number;
  flushEveryMs: number;
  commitEveryMs: number;
  /**
   * Interval at which idle partitions compare their position with Redis, because Redis may have lost its latest writes
   * unnoticed. With more than 256 partitions, this is the interval between groups of 256.
   */
  compareEveryMs: number;
  /** Called with the number of records that Kafka deleted before they were read. */
  expired?: (records: number) => void;
}
