import type { Kafka } from 'kafkajs';
import { kafkajsModule } from './kafkajs-module.adapter.js';
import type { AskedBroker } from './topic-ids.adapter.js';

const METADATA_MS = 60_000;
export const READ_COMMITTED = 1;

interface PartitionAnswer {
  readonly partition: number;
}
interface Broker {
  fetch(request: object): Promise<{
    readonly responses: readonly { readonly topicName: string; readonly partitions: readonly PartitionAnswer[] }[];
  }>;
}

/** The members of kafkajs' cluster that reading without a consumer group needs. */
export interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  findTopicPartitionMetadata(topic: string): readonly { readonly partitionId: number }[];
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Record<string, number[]>;
  findBroker(of: { nodeId: string }): Promise<Broker>;
  /** For a question that any broker can answer. */
  readonly brokerPool: { withBroker<T>(question: (any: { broker: AskedBroker }) => Promise<T>): Promise<T | null> };
  fetchTopicsOffset(
    topics: readonly object[],
  ): Promise<{ topic: string; partitions: readonly { partition: number; offset: string }[] }[]>;
}

interface Batch<Message> {
  readonly rawMessages: readonly unknown[];
  readonly messages: readonly Message[];
  readonly highWatermark: string;
  lastOffset(): string;
}
type BatchOf = new <Message>(topic: string, fetchedOffset: string, part: object) => Batch<Message>;

/** What a consumer of kafkajs makes of a partition of an answer: no aborted records, and none of Kafka's own. */
export function batchOf<Message>(topic: string, offset: number, part: PartitionAnswer): Batch<Message> {
  const BatchClass = kafkajsModule('consumer/batch')?.exports as BatchOf;
  return new BatchClass<Message>(topic, String(offset), part);
}

/** The connections of kafkajs' own consumers. */
export function newCluster(kafka: Kafka): Cluster {
  const create = Object.getOwnPropertySymbols(kafka).find(({ description = '' }) =>
    description.endsWith('createCluster'),
  );
  const make = create && (kafka as unknown as Record<symbol, ((options: object) => Cluster) | undefined>)[create];
  if (make === undefined) throw new Error('This version of kafkajs has no clusters to fetch from');
  return make({ metadataMaxAge: METADATA_MS, allowAutoTopicCreation: false, isolationLevel: READ_COMMITTED });
}
