import type { LogRecord } from '@relay/events';

/** A client of the brokers, made by `connectKafka`. It opens no connection by itself. */
export abstract class Kafka {
  abstract admin(options?: AdminOptions): KafkaAdmin;
}

interface AdminOptions {
  /** @property initialRetryTime milliseconds before the first repeat */
  readonly retry: { readonly retries: number; readonly initialRetryTime?: number };
}

/**
 * One connection for requests about topics and groups. Offsets are decimal texts. Each call rejects if no broker answers.
 */
export interface KafkaAdmin {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  /** The brokers may report no id. */
  describeCluster(): Promise<{ readonly clusterId?: string | null }>;
  listTopics(): Promise<readonly string[]>;
  /** Rejects if one of the topics does not exist; an empty list means all topics. */
  fetchTopicMetadata(of: { topics: string[] }): Promise<{ readonly topics: readonly TopicMetadata[] }>;
  createTopics(of: { topics: NewTopic[]; timeout: number; waitForLeaders: boolean }): Promise<boolean>;
  describeConfigs(of: {
    includeSynonyms: boolean;
    resources: { type: number; name: string; configNames: string[] }[];
  }): Promise<{ readonly resources: readonly ConfigsOfResource[] }>;
  /** Returns for each partition the offset of the first record (`low`), and the offset after the last record (`high`). */
  fetchTopicOffsets(topic: string): Promise<readonly (Place & { readonly low: string; readonly high: string })[]>;
  /**
   * Returns the offset of the first record that is not older than `time` (epoch milliseconds); -1 or the end if there is
   * none.
   */
  fetchTopicOffsetsByTimestamp(topic: string, time?: number): Promise<readonly PartitionOffset[]>;
  deleteTopicRecords(of: { topic: string; partitions: PartitionOffset[] }): Promise<void>;
  /** Returns the offsets that the group has committed; -1 for a partition without a committed offset. */
  fetchOffsets(of: {
    groupId: string;
    topics?: string[];
  }): Promise<readonly { readonly topic: string; readonly partitions: readonly PartitionOffset[] }[]>;
  describeGroups(groupIds: string[]): Promise<{ readonly groups: readonly { readonly members: readonly unknown[] }[] }>;
  deleteGroups(groupIds: string[]): Promise<unknown>;
}

interface Place {
  readonly partition: number;
}

interface PartitionOffset extends Place {
  readonly offset: string;
}

interface TopicMetadata {
  readonly name: string;
  readonly partitions: readonly {
    readonly partitionId: number;
    /** Node id; -1 while the partition has no leader. */
    readonly leader: number;
    readonly replicas: readonly number[];
  }[];
}

interface NewTopic {
  readonly topic: string;
  readonly numPartitions: number;
  readonly replicationFactor: number;
  readonly configEntries: { readonly name: string; readonly value: string }[];
}

interface ConfigsOfResource {
  readonly resourceName: string;
  readonly configEntries: readonly { readonly configName: string; readonly configValue: string }[];
}

/** A record as it was fetched. Offset and timestamp (epoch milliseconds) are decimal texts. */
export interface KafkaMessage {
  readonly offset: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: LogRecord['headers'];
  readonly timestamp: string;
  /** @property partitionLeaderEpoch epoch of the leader that wrote the record (KIP-101); each new leader has a higher one */
  readonly batchContext?: { readonly partitionLeaderEpoch: number };
}

/** The id of each existing topic, by name; undefined if the brokers have no topic ids. */
export type IdsByTopic = ReadonlyMap<string, string | undefined>;
/** Topic ids and cluster id, as one broker reports them. The cluster id is null if the broker reports none. */
export interface TopicsOfCluster {
  readonly cluster: string | null;
  readonly ids: IdsByTopic;
}

/** Records that one fetch found in one partition. */
export interface FetchedBatch {
  readonly topic: string;
  readonly partition: number;
  readonly messages: readonly KafkaMessage[];
  /** All that was fetched, including markers and records of aborted transactions. */
  readonly rawMessages: readonly { readonly offset: string }[];
  /** Offset at which the fetch began. */
  readonly fetchedOffset: string;
  /** Offset after the last record that every in-sync replica has. */
  readonly highWatermark: string;
  /** Offset of the last of `rawMessages`. */
  lastOffset(): string;
}

/** A batch that a member of a group is processing. */
export interface BatchInHand {
  readonly batch: FetchedBatch;
  /** Whether the partition has been assigned to another member, or has been set to another offset, since the fetch. */
  isStale(): boolean;
  /** Makes the next fetch begin after this offset. */
  resolveOffset(offset: string): void;
  /** Reports to the group that this member is alive. Rejects if the group rebalances or the broker cannot be reached. */
  heartbeat(): Promise<void>;
}

export interface CommittedOffset extends PartitionOffset {
  readonly topic: string;
}

/** Records to store in one partition, in this order. */
export interface OutgoingBatch {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly {
    readonly key: string;
    readonly value: Buffer;
    readonly headers: Readonly<Record<string, string>>;
  }[];
}

/** The broker's answer for one partition of a send. */
export interface Acknowledgement {
  readonly topicName: string;
  readonly partition: number;
  /** 0 if every in-sync replica has the records. */
  readonly errorCode: number;
  /** Offset of the batch's first record, as text. */
  readonly baseOffset?: string;
}

/** A producer, with one connection to each leader that gets records. */
export interface KafkaProducer {
  /** Sends all batches with acks=all. @param timeoutMs milliseconds within which the replicas must have the records */
  send(batches: readonly OutgoingBatch[], timeoutMs: number): Promise<readonly Acknowledgement[]>;
  disconnect(): Promise<void>;
}
