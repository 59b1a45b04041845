import type { LogRecord } from '@relay/events';
import type { Kafka, KafkaMessage } from 'kafkajs';
import { kafkajsModule } from './kafkajs-module.adapter.js';
import { logRecordOf } from './log-record.adapter.js';

/** What one fetch brought of a partition. */
export interface FetchedPart {
  readonly partition: number;
  readonly records: readonly LogRecord[];
  /** Where the next fetch goes on. */
  readonly next: number;
  /** The end of the partition. */
  readonly end: number;
}

/** @property waitMs how long the broker waits for a record; 0 answers at once */
export interface FetchBounds {
  readonly maxBytes: number;
  readonly waitMs: number;
}

interface FetchAnswer {
  readonly responses: readonly { readonly partitions: readonly { readonly partition: number }[] }[];
}
interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addTargetTopic(topic: string): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Record<string, number[]>;
  findBroker(node: { nodeId: string }): Promise<{ fetch(request: object): Promise<FetchAnswer> }>;
}
interface Batch {
  readonly rawMessages: readonly unknown[];
  readonly messages: readonly KafkaMessage[];
  readonly highWatermark: string;
  lastOffset(): string;
}
type BatchClass = new (topic: string, fetchedOffset: string, part: object) => Batch;

const READ_COMMITTED = 1;

/**
 * Fetches records by their offsets, without a consumer group: joining one takes as long as the broker's
 * `group.initial.rebalance.delay.ms`, three seconds by default, and a person waits for the answer. kafkajs 2.2.4 has what that
 * needs and no way to it, so this uses the parts of its consumer ([ADR 0016](../../../docs/adr/0016-kafkajs-is-mended-where-it-stands.md)).
 * After a fault the next fetch opens a new connection.
 */
export class LogFetcher {
  #cluster: Promise<Cluster> | undefined;

  constructor(private readonly kafka: Kafka) {}

  /**
   * What follows the given offset of each partition, as far as the bounds allow; partitions without news may be left out.
   * @param from by partition
   * @throws Error when a broker does not answer, or an offset is not in the log
   */
  async fetch(topic: string, from: ReadonlyMap<number, number>, bounds: FetchBounds): Promise<FetchedPart[]> {
    const opened = (this.#cluster ??= this.#open());
    try {
      const cluster = await opened;
      await cluster.addTargetTopic(topic);
      await cluster.refreshMetadataIfNecessary();
      const leaders = cluster.findLeaderForPartitions(topic, [...from.keys()]);
      const parts = Object.entries(leaders).map(async ([nodeId, partitions]) => {
        const broker = await cluster.findBroker({ nodeId });
        const asked = partitions.map((partition) => ({
          partition,
          fetchOffset: String(from.get(partition)),
          maxBytes: bounds.maxBytes,
        }));
        const answer = await broker.fetch({
          isolationLevel: READ_COMMITTED,
          maxWaitTime: bounds.waitMs,
          minBytes: 1,
          maxBytes: bounds.maxBytes,
          topics: [{ topic, partitions: asked }],
        });
        return answer.responses.flatMap(({ partitions: got }) => got.map((part) => partOf(topic, from, part)));
      });
      return (await Promise.all(parts)).flat();
    } catch (error) {
      if (this.#cluster === opened) await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const opened = this.#cluster;
    this.#cluster = undefined;
    await opened?.then((cluster) => cluster.disconnect()).catch(() => undefined);
  }

  async #open(): Promise<Cluster> {
    const cluster = newCluster(this.kafka);
    await cluster.connect();
    return cluster;
  }
}

function partOf(topic: string, from: ReadonlyMap<number, number>, part: { readonly partition: number }): FetchedPart {
  const Batch = kafkajsModule('consumer/batch')?.exports as BatchClass;
  const asked = from.get(part.partition) ?? 0;
  const batch = new Batch(topic, String(asked), part);
  // Without any message the broker has nothing, or nothing that is committed yet.
  const next = batch.rawMessages.length === 0 ? asked : Number(batch.lastOffset()) + 1;
  return {
    partition: part.partition,
    records: batch.messages.map(logRecordOf),
    next,
    end: Number(batch.highWatermark),
  };
}

/** The connections of kafkajs' own consumers. */
function newCluster(kafka: Kafka): Cluster {
  const create = Object.getOwnPropertySymbols(kafka).find(({ description = '' }) =>
    description.endsWith('createCluster'),
  );
  if (create === undefined) throw new Error('This version of kafkajs has no clusters to fetch from');
  const make = (kafka as unknown as Record<symbol, (options: object) => Cluster>)[create];
  if (make === undefined) throw new Error('This version of kafkajs has no clusters to fetch from');
  return make({ metadataMaxAge: METADATA_MS, allowAutoTopicCreation: false, isolationLevel: READ_COMMITTED });
}

const METADATA_MS = 300_000;
