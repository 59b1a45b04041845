import type { CommittedOffset, KafkaAdmin } from '@relay/kafka';

/** The calls of the transport that the reader needs. Both throw while the consumer does not run. */
export interface LogControls {
  seek(topic: string, partition: number, offset: number): void;
  commit(offsets: readonly CommittedOffset[]): Promise<void>;
}

/** The log's own bounds and the group's commits, asked when a partition is assigned. */
export type LogBounds = Pick<KafkaAdmin, 'fetchOffsets' | 'fetchTopicOffsets' | 'fetchTopicOffsetsByTimestamp'>;

/** Kafka's ids of the topics. A topic that is created again has another id. */
export abstract class TopicIds {
  /**
   * Returns undefined if the topic does not exist or the brokers have no ids. For a moment it may still return the id of a
   * deleted topic.
   */
  abstract of(topic: string): Promise<string | undefined>;
}

export const LOG_READER_OPTIONS = Symbol('options of the log reader');

export interface LogReaderOptions {
  groupId: string;
  /** Topics of envelopes, which the group reads. */
  topics: () => readonly string[];
  /** Number of shards; default 1. */
  shards?: number;
  flushEveryMs: number;
  commitEveryMs: number;
  /** Interval at which idle partitions compare their position with the store: Redis may have gone back unnoticed. */
  compareEveryMs: number;
  /** Called with the number of records that were deleted before they were read. */
  expired?: (records: number) => void;
}
