import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { ISocketFactory } from 'kafkajs';
import { BusyPartitions, type FetchedBatch, type TopicPartitions } from './busy-partitions.js';
import { decodedRecord } from './decoded-record.js';
import { FetchSession, type FetchedTopic, type SessionAnswer } from './fetch-session.js';
import type { TopicsOfCluster } from './kafka.port.js';
import { isPlain, produceBytes, type UnencodedProduce } from './produce-bytes.js';

// Replaces faulty parts of kafkajs 2.2.4 in Node's module cache. kafkajs loads these parts at its first request. So it is
// early enough to load this file together with `connectKafka`; if it is loaded later, it has no effect. Specs compare the
// replacements with the original parts.

const require = createRequire(import.meta.url);

/** Returns a module of kafkajs from the require cache. Every later `require` gets the same module. */
export function kafkajsModule(name: string): NodeJS.Module | undefined {
  require(`kafkajs/src/${name}`);
  return require.cache[require.resolve(`kafkajs/src/${name}`)];
}

function mend<Exports>(name: string, change: (exports: Exports, module: { exports: Exports }) => void): void {
  const found = kafkajsModule(name);
  if (found !== undefined) change(found.exports as Exports, found);
}

interface ClassOf<T> {
  readonly prototype: T;
}

// In kafkajs 2.2.4, the error that no broker names the coordinator of a group is not retriable, so the consumer crashes for
// good. This error occurs for a moment whenever brokers restart. Therefore it is made retriable here, like every other error
// of a broker that is not ready (tulios/kafkajs#1630, #1445, open).
mend<Record<string, ClassOf<object> | undefined>>('errors', (exports) => {
  const found = exports['KafkaJSGroupCoordinatorNotFound'];
  // The constructor sets `retriable` to false on each instance.
  if (found !== undefined) Object.defineProperty(found.prototype, 'retriable', { get: () => true, set: () => {} });
});

interface FetchRequest {
  readonly topics: readonly FetchedTopic[];
}
/** The members of kafkajs' broker that are used here. */
interface Broker {
  readonly nodeId: number | null;
  readonly connectionPool: {
    readonly host: string;
    readonly port: number;
    readonly pool: readonly { readonly socket?: Socket }[];
  };
  isConnected(): boolean;
  connect(): Promise<void>;
  lookupRequest(apiKey: number, definition: unknown): (request: FetchRequest) => unknown;
  fetch(request: FetchRequest): Promise<SessionAnswer>;
}
type Send = (this: Broker, request: unknown) => Promise<SessionAnswer>;

type Fetch = (broker: Broker, session: FetchSession, request: FetchRequest) => Promise<SessionAnswer>;
let fetchIn: Fetch | undefined;

// kafkajs 2.2.4 lists all partitions in each fetch request, and the broker lists them all in each answer. With 84
// partitions, this costs the worker 0.65 ms for one record, and the broker as much. The encoders and decoders of kafkajs
// support fetch sessions, but kafkajs does not use them. Each consumer has its own broker objects, so each session belongs
// to one broker object.
mend<ClassOf<Broker>>('broker', ({ prototype }) => {
  const requests = kafkajsModule('protocol/requests')?.exports as { requests: { Fetch?: unknown } } | undefined;
  const apiKeys = kafkajsModule('protocol/requests/apiKeys')?.exports as { Fetch?: number } | undefined;
  const sendRequest = Object.getOwnPropertySymbols(prototype).find(({ description = '' }) =>
    description.endsWith('sendRequest'),
  );
  const [definition, apiKey] = [requests?.requests.Fetch, apiKeys?.Fetch];
  if (sendRequest === undefined || definition === undefined || apiKey === undefined) return;
  const send = (prototype as unknown as Record<symbol, Send>)[sendRequest] as Send;
  const sessions = new WeakMap<Broker, FetchSession>();
  fetchIn = async (broker, session, request) => {
    const build = broker.lookupRequest(apiKey, definition);
    const asked = session.request(request.topics);
    try {
      const answer = await send.call(broker, build({ ...request, ...asked }));
      session.answered(asked, answer);
      return answer;
    } catch (error) {
      session.failed(asked);
      throw error;
    }
  };
  const fetch = fetchIn;
  prototype.fetch = function (this: Broker, request: FetchRequest): Promise<SessionAnswer> {
    return fetch(this, sessionOf(sessions, this), request);
  };
});

function sessionOf(sessions: WeakMap<Broker, FetchSession>, broker: Broker): FetchSession {
  const session = sessions.get(broker) ?? new FetchSession();
  sessions.set(broker, session);
  return session;
}

/** The members of kafkajs' consumer group that a fetch uses and that are replaced here. */
interface ConsumerGroup {
  readonly maxWaitTime: number;
  readonly cluster: { findBroker(node: { nodeId: number }): Promise<Broker> };
  readonly offsetManager: object;
  readonly subscriptionState: {
    readonly assignedPartitionsByTopic: Readonly<Record<string, TopicPartitions | undefined>>;
    isPaused(topic: string, partition: number): boolean;
  };
  fetch(nodeId: number): Promise<FetchedBatch[]>;
  recoverFromFetch(error: unknown): Promise<void>;
}

// kafkajs 2.2.4 goes through all assigned partitions for each fetch, and so does the broker. With 1,284 partitions, this is
// a tenth of the worker's time. A fetch of the busy partitions alone sees a group that has only these, and has a session of
// its own. It leaves the checks for new partitions and for unknown offsets to the fetches of all partitions.
mend<ClassOf<ConsumerGroup>>('consumer/consumerGroup', ({ prototype }) => {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its group below
  const { fetch } = prototype;
  const ofGroup = new WeakMap<ConsumerGroup, Map<number, BusyPartitions>>();
  const sessions = new WeakMap<Broker, FetchSession>();

  const fetchBusy = (group: ConsumerGroup, nodeId: number, topics: TopicPartitions[], waitMs: number) => {
    const { cluster, offsetManager, subscriptionState } = group;
    const active = (): TopicPartitions[] =>
      topics.map(({ topic, partitions }) => ({
        topic,
        partitions: partitions.filter((partition) => !subscriptionState.isPaused(topic, partition)),
      }));
    const findBroker = async (node: { nodeId: number }): Promise<Pick<Broker, 'fetch'>> => {
      const broker = await cluster.findBroker(node);
      const session = sessionOf(sessions, broker);
      return { fetch: (request) => fetchIn?.(broker, session, request) ?? broker.fetch(request) };
    };
    return fetch.call(
      derived(group, {
        maxWaitTime: Math.min(group.maxWaitTime, waitMs),
        cluster: derived(cluster, { findBroker }),
        subscriptionState: derived(subscriptionState, { assigned: () => topics, active }),
        checkForStaleAssignment: () => undefined,
        offsetManager: derived(offsetManager, { resolveOffsets: () => Promise.resolve() }),
        recoverFromFetch: (error: unknown) => group.recoverFromFetch(error),
      }),
      nodeId,
    );
  };

  prototype.fetch = async function (this: ConsumerGroup, nodeId: number): Promise<FetchedBatch[]> {
    const nodes = ofGroup.get(this) ?? new Map<number, BusyPartitions>();
    ofGroup.set(this, nodes);
    const busy = nodes.get(nodeId) ?? new BusyPartitions();
    nodes.set(nodeId, busy);
    const assigned = this.subscriptionState.assignedPartitionsByTopic;
    const count = Object.values(assigned).reduce((sum, topic) => sum + (topic?.partitions.length ?? 0), 0);
    const isAssigned = (topic: string, partition: number) => assigned[topic]?.partitions.includes(partition) === true;
    const chosen = busy.choose(performance.now(), count, isAssigned);
    const batches = await (chosen ? fetchBusy(this, nodeId, chosen.topics, chosen.waitMs) : fetch.call(this, nodeId));
    busy.saw(batches, performance.now());
    return batches;
  };
});

/** Returns an object with some other members, which is like the original otherwise. */
const derived = <T extends object>(original: T, members: object): T =>
  Object.assign(Object.create(original) as T, members);

/** Limit for the time from the first packet of a connection to the broker's first answers, including the login. */
const CONNECT_MS = 5_000;

type Question = (asked: { nodeId: number | null; broker: Broker }) => Promise<unknown>;
interface BrokerPool {
  readonly seedBroker: Broker | undefined;
  readonly brokers: Readonly<Record<string, Broker>>;
  withBroker(question: Question): Promise<unknown>;
}

const failedAt = new Map<string, number>();

/**
 * Returns the broker to begin with: the first broker that has not failed, or the broker whose failure is the longest ago.
 */
export function startingBroker(addresses: readonly string[]): string[] {
  const failed = (address: string): number => failedAt.get(address) ?? 0;
  return addresses.toSorted((a, b) => failed(a) - failed(b)).slice(0, 1);
}

// A frozen broker accepts connections and answers nothing. kafkajs 2.2.4 then waits for its whole request timeout, keeps the
// connection, and begins with the same broker again, because it tries the next broker only after a failed connection.
// Therefore such a connection is made to fail here, like a refused connection.
mend<ClassOf<Broker>>('broker', ({ prototype }) => {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its broker below
  const { connect } = prototype;
  const underWay = new WeakMap<Broker, Promise<void>>();
  const connectInTime = async (broker: Broker): Promise<void> => {
    const { host, port, pool } = broker.connectionPool;
    const overdue = setTimeout(() => pool[0]?.socket?.destroy(new Error(`no answer in ${CONNECT_MS} ms`)), CONNECT_MS);
    try {
      await connect.call(broker);
    } catch (error) {
      failedAt.set(`${host}:${port}`, performance.now());
      throw error;
    } finally {
      clearTimeout(overdue);
    }
  };
  prototype.connect = function (this: Broker): Promise<void> {
    const connecting = underWay.get(this) ?? connectInTime(this).finally(() => underWay.delete(this));
    underWay.set(this, connecting);
    return connecting;
  };
});

// kafkajs sends a request that any broker can answer to a random broker, even if this broker is not connected. A connected
// broker has answered a moment ago, so a connected broker is preferred here.
mend<ClassOf<BrokerPool>>('cluster/brokerPool', ({ prototype }) => {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its pool below
  const { withBroker } = prototype;
  prototype.withBroker = async function (this: BrokerPool, question: Question): Promise<unknown> {
    const connected = [this.seedBroker, ...Object.values(this.brokers)].filter((one) => one?.isConnected() === true);
    const broker = connected[Math.floor(Math.random() * connected.length)];
    try {
      if (broker !== undefined) return await question({ nodeId: broker.nodeId, broker });
    } catch {
      // The request then goes to any broker.
    }
    return withBroker.call(this, question);
  };
});

// kafkajs 2.2.4 splits the broker address with which it begins at the first colon, but an IPv6 address contains colons. So
// kafkajs gets an IPv6 address in the form [2001-db8--1]:9092, and `openSocket` restores the address for each connection.
// kafkajs does not split the addresses that brokers report.

export function splittable(address: string): string {
  const end = address.lastIndexOf(':');
  const host = address.slice(0, end).replace(/^\[(.*)\]$/, '$1');
  return host.includes(':') ? `[${host.replaceAll(':', '-')}]${address.slice(end)}` : address;
}

const meant = (host: string): string => /^\[(.*)\]$/.exec(host)?.[1]?.replaceAll('-', ':') ?? host;

const factory = kafkajsModule('network/socketFactory')?.exports as () => ISocketFactory;
const usual = factory();

export const openSocket: ISocketFactory = (asked) => usual({ ...asked, host: meant(asked.host) });

/** An encoded request, in the form that kafkajs expects: it copies `buffer` and checks that `buf` is a Buffer. */
type Encoded = Readonly<Record<'buf' | 'buffer', Buffer>>;
type Produce = (request: UnencodedProduce) => { encode: () => Promise<Encoded> };

// For each record and each header, kafkajs 2.2.4 allocates 512 bytes, and for each number a buffer. Then it copies the
// records eight times, mostly through buffers that double in size. The replacement writes the same bytes directly, and
// kafkajs copies them twice.
mend<Produce>('protocol/requests/produce/v3/request', (kafkajs, module) => {
  module.exports = (request) => {
    if (!isPlain(request)) return kafkajs(request);
    const encode = async (): Promise<Encoded> => {
      const bytes = produceBytes(request, Date.now());
      return { buf: bytes, buffer: bytes };
    };
    return { ...kafkajs(request), encode };
  };
});

// kafkajs 2.2.4 copies all headers of a record for each header, and calculates with BigInt. So it takes 11 µs to read a
// record with eight headers. The replacement takes 2 µs for the same result.
mend('protocol/recordBatch/record/v0/decoder', (_, module) => (module.exports = decodedRecord));

/**
 * Part of kafkajs' request queue, which exists once for each broker. `scheduleCheckPendingRequests`, which is replaced
 * below, uses these members.
 */
export interface RequestQueue {
  readonly pending: readonly unknown[];
  /** The broker wants no request before this time, in epoch milliseconds; -1 if there is no such time. */
  readonly throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
}

/** Interval at which requests above the in-flight limit are checked, in addition to the check after each answer. */
const CHECK_MS = 10;

// kafkajs 2.2.4 restarts the timer of this check again and again, even if no request waits. The delay is negative, and Node
// treats a negative delay as 1 ms. So each connection wakes its process a thousand times a second without need
// (tulios/kafkajs#1704, #1556, #1751, unmerged fixes).
mend<ClassOf<object>>('network/requestQueue', ({ prototype }) => {
  Object.assign(prototype, {
    scheduleCheckPendingRequests(this: RequestQueue): void {
      if (this.pending.length === 0 || this.throttleCheckTimeoutId !== null) return;
      const check = (): void => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      };
      this.throttleCheckTimeoutId = setTimeout(check, Math.max(this.throttledUntil - Date.now(), CHECK_MS));
    },
  });
});

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
interface Request {
  readonly request: object;
  readonly response: {
    decode(data: Buffer): Promise<TopicsOfCluster>;
    parse(answer: TopicsOfCluster): Promise<TopicsOfCluster>;
  };
}

/** The members of kafkajs' broker that are needed for a request of the relay's own. */
export interface AskedBroker {
  readonly versions: Readonly<Record<number, { readonly maxVersion: number } | undefined>> | null;
  readonly connectionPool: { send(request: Request): Promise<TopicsOfCluster> };
}

/**
 * API key and version of the metadata request. Topic ids came with version 10 (KIP-516, Kafka 2.8); kafkajs 2.2.4 uses
 * version 6.
 */
const [METADATA, VERSION] = [3, 10];
const NO_ID = '0'.repeat(32);
/** Error codes of a topic that exists: also a topic without leaders exists. */
const [NONE, LEADER_NOT_AVAILABLE] = [0, 5];

/** Returns the ids of these topics, as this broker knows them. */
export async function topicIdsOf(broker: AskedBroker, topics: readonly string[]): Promise<TopicsOfCluster> {
  if ((broker.versions?.[METADATA]?.maxVersion ?? 0) < VERSION)
    return { cluster: null, ids: new Map(topics.map((topic) => [topic, undefined])) };
  return broker.connectionPool.send({
    request: { apiKey: METADATA, apiVersion: VERSION, apiName: 'Metadata', encode: async () => requestFor(topics) },
    response: { decode: async (data) => toldIn(data), parse: async (answer) => answer },
  });
}

/**
 * Encodes the request. It begins with the tagged fields of the request header, which kafkajs does not write. The request
 * creates no topics and does not ask for the client's rights.
 */
function requestFor(topics: readonly string[]): Encoder {
  const EncoderClass = kafkajsModule('protocol/encoder')?.exports as new () => Encoder;
  const request = new EncoderClass().writeUVarInt(0).writeUVarInt(topics.length + 1);
  for (const topic of topics) request.writeBuffer(Buffer.alloc(16)).writeUVarIntString(topic).writeUVarInt(0);
  return request.writeBoolean(false).writeBoolean(false).writeBoolean(false).writeUVarInt(0);
}

/**
 * Decodes the answer, which begins with the tagged fields of the response header. The bytes after the topics are not read.
 */
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
  for (let number = 0; number < 3; number += 1) decoder.readInt32(); // partition, leader, leader epoch
  for (let list = 0; list < 3; list += 1) decoder.readUVarIntArray((each) => each.readInt32()); // replicas
  decoder.readTaggedFields();
}
