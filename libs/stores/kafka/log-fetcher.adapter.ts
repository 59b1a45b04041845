import type { LogRecord } from '@relay/events';
import { placeOutside } from './kafka-errors.adapter.js';
import type { FetchedBatch, IdsByTopic, Kafka, KafkaMessage, TopicsOfCluster } from './kafka.port.js';
import { kafkajsModule, topicIdsOf, type AskedBroker } from './kafkajs-mends.adapter.js';
import { answeredWithin, askedAgain } from './kept-admin.adapter.js';

const ANSWER_MS = 8_000;

export interface FetchedPart {
  readonly partition: number;
  readonly records: readonly LogRecord[];
  /** Offset of the next fetch. */
  readonly next: number;
  readonly end: number;
}

/** @property waitMs how long the broker waits for a record; with 0 it answers at once */
export interface FetchBounds {
  readonly maxBytes: number;
  readonly waitMs: number;
}

export interface LogPlace {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

/** Records of a partition from the offset `from` on. */
export interface LogSlice extends FetchedPart {
  readonly topic: string;
  readonly from: number;
}

export type Offsets = readonly number[];

/**
 * Fetches records by their offsets, without a consumer group. Joining a group takes as long as the broker's
 * `group.initial.rebalance.delay.ms`, which is three seconds by default, and a person waits for the answer. kafkajs 2.2.4
 * can fetch without a group, but its public API does not offer that. So this class uses inner parts of its consumer
 * ([ADR 0016](../../../docs/adr/0016-kafkajs-is-mended-where-it-stands.md)). After an error, the next fetch opens a
 * new connection.
 */
export class LogFetcher {
  #cluster: Promise<Cluster> | undefined;

  constructor(private readonly kafka: Kafka) {}

  /**
   * Fetches records from the given offset of each partition on, within the bounds. Partitions without new records may be
   * missing in the result.
   * @param from offset by partition
   * @throws Error if a broker does not answer, or if an offset is not in the log
   */
  fetch(topic: string, from: ReadonlyMap<number, number>, bounds: FetchBounds): Promise<FetchedPart[]> {
    return this.fetchAll(
      [...from].map(([partition, offset]) => ({ topic, partition, offset })),
      bounds,
    );
  }

  /**
   * Like `fetch`, for several topics.
   * @throws Error as `fetch`; `placeOutside` reads the partition from an error about an offset
   */
  fetchAll(places: readonly LogPlace[], bounds: FetchBounds): Promise<LogSlice[]> {
    return this.#asked(
      places.map(({ topic }) => topic),
      async (cluster) => {
        const parts = [...byLeader(cluster, places)].map(([nodeId, led]) => fetchFrom(cluster, nodeId, led, bounds));
        return (await Promise.all(parts)).flat();
      },
    );
  }

  /** Returns the first or the end offset of each partition. @throws Error if the brokers do not answer in time */
  bounds(topics: readonly string[], which: 'first' | 'end'): Promise<Map<string, Offsets>> {
    const answer = askedAgain(ANSWER_MS, () =>
      this.#asked(topics, async (cluster) => {
        const asked = topics.map((topic) => ({
          topic,
          partitions: partitionsOf(cluster, topic).map((partition) => ({ partition })),
          fromBeginning: which === 'first',
        }));
        const found = await cluster.fetchTopicsOffset(asked);
        return new Map(
          found.map(({ topic, partitions }) => [
            topic,
            partitions.toSorted((a, b) => a.partition - b.partition).map(({ offset }) => Number(offset)),
          ]),
        );
      }),
    );
    return answeredWithin(ANSWER_MS, answer);
  }

  partitions(topics: readonly string[]): Promise<Map<string, number>> {
    return this.#asked(topics, (cluster) =>
      Promise.resolve(new Map(topics.map((topic) => [topic, partitionsOf(cluster, topic).length]))),
    );
  }

  /**
   * Returns Kafka's ids of the topics. A topic that is deleted and created again gets another id. A broker whose metadata is
   * old may report the id of a topic that no longer exists.
   * @throws Error if the brokers do not answer in time
   */
  async topicIds(topics: readonly string[]): Promise<IdsByTopic> {
    return (await this.topicsOfCluster(topics)).ids;
  }

  /** Like `topicIds`, with the id of the cluster. @throws Error as `topicIds` */
  topicsOfCluster(topics: readonly string[]): Promise<TopicsOfCluster> {
    const answer = this.#asked([], async ({ brokerPool }) => {
      const found = await brokerPool.withBroker(({ broker }) => topicIdsOf(broker, topics));
      if (found === null) throw new Error('No broker tells the ids of the topics');
      return found;
    });
    return answeredWithin(ANSWER_MS, answer);
  }

  async close(): Promise<void> {
    const opened = this.#cluster;
    this.#cluster = undefined;
    await opened?.then((cluster) => cluster.disconnect()).catch(() => undefined);
  }

  async #asked<T>(topics: readonly string[], question: (cluster: Cluster) => Promise<T>): Promise<T> {
    const opened = (this.#cluster ??= this.#open());
    try {
      const cluster = await opened;
      if (topics.length > 0) {
        await cluster.addMultipleTargetTopics(topics);
        await cluster.refreshMetadataIfNecessary();
      }
      return await question(cluster);
    } catch (error) {
      if (this.#cluster === opened && placeOutside(error) === undefined) await this.close();
      throw error;
    }
  }

  async #open(): Promise<Cluster> {
    const cluster = newCluster(this.kafka);
    await cluster.connect();
    return cluster;
  }
}

const METADATA_MS = 60_000;
const READ_COMMITTED = 1;

interface PartitionAnswer {
  readonly partition: number;
}
interface Broker {
  fetch(request: object): Promise<{
    readonly responses: readonly { readonly topicName: string; readonly partitions: readonly PartitionAnswer[] }[];
  }>;
}

/** The members of kafkajs' cluster that are needed to read without a consumer group. */
interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  findTopicPartitionMetadata(topic: string): readonly { readonly partitionId: number }[];
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Record<string, number[]>;
  findBroker(of: { nodeId: string }): Promise<Broker>;
  /** For requests that any broker can answer. */
  readonly brokerPool: { withBroker<T>(question: (any: { broker: AskedBroker }) => Promise<T>): Promise<T | null> };
  fetchTopicsOffset(
    topics: readonly object[],
  ): Promise<{ topic: string; partitions: readonly { partition: number; offset: string }[] }[]>;
}

type BatchOf = new (topic: string, fetchedOffset: string, part: object) => FetchedBatch;

/** Decodes one partition of an answer as a consumer of kafkajs does, without aborted records and control records. */
function batchOf(topic: string, offset: number, part: PartitionAnswer): FetchedBatch {
  const BatchClass = kafkajsModule('consumer/batch')?.exports as BatchOf;
  return new BatchClass(topic, String(offset), part);
}

function newCluster(kafka: Kafka): Cluster {
  const create = Object.getOwnPropertySymbols(kafka).find(({ description = '' }) =>
    description.endsWith('createCluster'),
  );
  const make = create && (kafka as unknown as Record<symbol, ((options: object) => Cluster) | undefined>)[create];
  if (make === undefined) throw new Error('This version of kafkajs has no clusters to fetch from');
  return make({ metadataMaxAge: METADATA_MS, allowAutoTopicCreation: false, isolationLevel: READ_COMMITTED });
}

const partitionsOf = (cluster: Cluster, topic: string): number[] =>
  cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId);

function byLeader(cluster: Cluster, places: readonly LogPlace[]): Map<string, LogPlace[]> {
  const led = new Map<string, LogPlace[]>();
  for (const place of places) {
    const [nodeId] = Object.keys(cluster.findLeaderForPartitions(place.topic, [place.partition]));
    if (nodeId !== undefined) led.set(nodeId, [...(led.get(nodeId) ?? []), place]);
  }
  return led;
}

async function fetchFrom(
  cluster: Cluster,
  nodeId: string,
  places: readonly LogPlace[],
  { maxBytes, waitMs }: FetchBounds,
): Promise<LogSlice[]> {
  const topics = new Map<string, LogPlace[]>();
  for (const place of places) topics.set(place.topic, [...(topics.get(place.topic) ?? []), place]);
  const broker = await cluster.findBroker({ nodeId });
  const { responses } = await broker.fetch({
    isolationLevel: READ_COMMITTED,
    maxWaitTime: waitMs,
    minBytes: 1,
    maxBytes,
    topics: [...topics].map(([topic, asked]) => ({
      topic,
      partitions: asked.map(({ partition, offset }) => ({ partition, fetchOffset: String(offset), maxBytes })),
    })),
  });
  return responses.flatMap(({ topicName: topic, partitions }) =>
    partitions.map((part): LogSlice => {
      const { partition } = part;
      const from = topics.get(topic)?.find((place) => place.partition === partition)?.offset ?? 0;
      const batch = batchOf(topic, from, part);
      // If there is no message, the partition has no record there, or no committed record yet.
      const next = batch.rawMessages.length === 0 ? from : Number(batch.lastOffset()) + 1;
      return {
        topic,
        partition,
        from,
        next,
        records: batch.messages.map(logRecordOf),
        end: Number(batch.highWatermark),
      };
    }),
  );
}

export const logRecordOf = (message: KafkaMessage): LogRecord => ({
  offset: Number(message.offset),
  key: message.key,
  value: message.value,
  headers: message.headers ?? {},
  timestamp: Number(message.timestamp),
});
