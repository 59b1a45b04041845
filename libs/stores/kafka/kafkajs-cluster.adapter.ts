import type { Kafka } from './kafka.port.js';
import { kafkajsModule } from './kafkajs-mends.adapter.js';

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
  /** For requests that any broker can answer. */
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

/** Decodes one partition of an answer as a kafkajs consumer does: without aborted records and control records. */
export function batchOf<Message>(topic: string, offset: number, part: PartitionAnswer): Batch<Message> {
  const BatchClass = kafkajsModule('consumer/batch')?.exports as BatchOf;
  return new BatchClass<Message>(topic, String(offset), part);
}

export function newCluster(kafka: Kafka): Cluster {
  const create = Object.getOwnPropertySymbols(kafka).find(({ description = '' }) =>
    description.endsWith('createCluster'),
  );
  const make = create && (kafka as unknown as Record<symbol, ((options: object) => Cluster) | undefined>)[create];
  if (make === undefined) throw new Error('This version of kafkajs has no clusters to fetch from');
  return make({ metadataMaxAge: METADATA_MS, allowAutoTopicCreation: false, isolationLevel: READ_COMMITTED });
}

/** Members of kafkajs' encoder and decoder of one message. */
interface Encoder {
  writeUVarInt(value: number): Encoder;
  writeUVarIntString(value: string): Encoder;
  writeBuffer(value: Buffer): Encoder;
  writeBoolean(value: boolean): Encoder;
}
interface Decoder {
  readInt16(): number;
  readInt32(): number;
  readBytes(length: number): Buffer;
  readBoolean(): boolean;
  readUVarIntString(): string | null;
  readUVarIntArray<T>(read: (decoder: Decoder) => T): T[] | null;
  readTaggedFields(): unknown;
}
/** The id of each topic that exists, by name; undefined if the brokers know no ids. */
export type IdsByTopic = ReadonlyMap<string, string | undefined>;
/** Topic ids and cluster id as one broker reports them; the cluster id is null if the broker reports none. */
export interface TopicsOfCluster {
  readonly cluster: string | null;
  readonly ids: IdsByTopic;
}
interface Request {
  readonly request: object;
  readonly response: {
    decode(data: Buffer): Promise<TopicsOfCluster>;
    parse(answer: TopicsOfCluster): Promise<TopicsOfCluster>;
  };
}

/** The members of kafkajs' broker that a request of our own needs. */
interface AskedBroker {
  readonly versions: Readonly<Record<number, { readonly maxVersion: number } | undefined>> | null;
  readonly connectionPool: { send(request: Request): Promise<TopicsOfCluster> };
}

/** Metadata has topic ids from version 10 on (KIP-516, Kafka 2.8). kafkajs 2.2.4 requests version 6. */
const [METADATA, VERSION] = [3, 10];
const NO_ID = '0'.repeat(32);
/** A topic without leaders exists too. */
const [NONE, LEADER_NOT_AVAILABLE] = [0, 5];

/** The ids of these topics, as this broker knows them. */
export async function topicIdsOf(broker: AskedBroker, topics: readonly string[]): Promise<TopicsOfCluster> {
  if ((broker.versions?.[METADATA]?.maxVersion ?? 0) < VERSION)
    return { cluster: null, ids: new Map(topics.map((topic) => [topic, undefined])) };
  return broker.connectionPool.send({
    request: { apiKey: METADATA, apiVersion: VERSION, apiName: 'Metadata', encode: async () => requestFor(topics) },
    response: { decode: async (data) => toldIn(data), parse: async (answer) => answer },
  });
}

/** Begins with the tagged fields of the request's head, which kafkajs does not write. No topic is created, no rights are asked for. */
function requestFor(topics: readonly string[]): Encoder {
  const EncoderClass = kafkajsModule('protocol/encoder')?.exports as new () => Encoder;
  const request = new EncoderClass().writeUVarInt(0).writeUVarInt(topics.length + 1);
  for (const topic of topics) request.writeBuffer(Buffer.alloc(16)).writeUVarIntString(topic).writeUVarInt(0);
  return request.writeBoolean(false).writeBoolean(false).writeBoolean(false).writeUVarInt(0);
}

/** Begins with the tagged fields of the answer's head, and is read up to the topics. */
function toldIn(data: Buffer): TopicsOfCluster {
  const DecoderClass = kafkajsModule('protocol/decoder')?.exports as new (data: Buffer) => Decoder;
  const decoder = new DecoderClass(data);
  decoder.readTaggedFields();
  decoder.readInt32(); // throttle time
  decoder.readUVarIntArray(skipBroker);
  const cluster = decoder.readUVarIntString();
  decoder.readInt32(); // controller
  const topics = decoder.readUVarIntArray(readTopic) ?? [];
  const existing = topics.filter(({ fault }) => fault === NONE || fault === LEADER_NOT_AVAILABLE);
  return { cluster, ids: new Map(existing.map(({ name, id }) => [name, id === NO_ID ? undefined : id])) };
}

function skipBroker(decoder: Decoder): void {
  decoder.readInt32();
  decoder.readUVarIntString();
  decoder.readInt32();
  decoder.readUVarIntString();
  decoder.readTaggedFields();
}

function readTopic(decoder: Decoder): { readonly fault: number; readonly name: string; readonly id: string } {
  const fault = decoder.readInt16();
  const name = decoder.readUVarIntString() ?? '';
  const id = decoder.readBytes(16).toString('hex');
  decoder.readBoolean();
  decoder.readUVarIntArray(skipPartition);
  decoder.readInt32();
  decoder.readTaggedFields();
  return { fault, name, id };
}

function skipPartition(decoder: Decoder): void {
  decoder.readInt16();
  for (let number = 0; number < 3; number += 1) decoder.readInt32(); // partition, leader, its epoch
  for (let list = 0; list < 3; list += 1) decoder.readUVarIntArray((each) => each.readInt32()); // replicas
  decoder.readTaggedFields();
}
