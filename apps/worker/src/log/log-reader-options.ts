import type { Admin, TopicPartitionOffsetAndMetadata } from 'kafkajs';

/** What the reader needs of the transport. Both throw while the consumer does not run. */
export interface LogControls {
  seek(topic: string, partition: number, offset: number): void;
  commit(offsets: TopicPartitionOffsetAndMetadata[]): Promise<void>;
}

/** The log's own bounds and the group's commits, asked when a partition is assigned. */
export type LogBounds = Pick<Admin, 'fetchOffsets' | 'fetchTopicOffsets' | 'fetchTopicOffsetsByTimestamp'>;

/** Kafka's ids of the topics, of which a topic that is created anew has another. */
export abstract class TopicIds {
  /** Undefined where the topic does not exist, or the brokers have no ids. An id that is gone may be told for a moment. */
  abstract of(topic: string): Promise<string | undefined>;
}

export const LOG_READER_OPTIONS = Symbol('options of the log reader');

export interface LogReaderOptions {
  groupId: string;
  /** Those of envelopes, which the group reads. */
  topics: readonly string[];
  /** Number of shards; default 1. */
  shards?: number;
  flushEveryMs: number;
  commitEveryMs: number;
  /** How often idle partitions compare their position with the store: Redis may have gone back unnoticed. */
  compareEveryMs: number;
  /** Called with the number of records that were deleted before they were read. */
  expired?: (records: number) => void;
}
