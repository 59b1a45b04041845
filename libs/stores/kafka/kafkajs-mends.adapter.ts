import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { ISocketFactory } from 'kafkajs';
import { decodedRecord } from './decoded-record.js';
import { FetchSession, type FetchedTopic, type SessionAnswer } from './fetch-session.js';
import type { TopicsOfCluster } from './kafka.port.js';
import { isPlain, produceBytes, type UnencodedProduce } from './produce-bytes.js';

// Replaces faulty parts of kafkajs 2.2.4 in Node's module cache, from which kafkajs loads them at its first request. Loading
// this file with `connectKafka` is early enough; loading it later has no effect. Specs compare the results.

const require = createRequire(import.meta.url);

/** A module of kafkajs in the require cache, from which every later `require` gets it. */
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

// For kafkajs 2.2.4 the error that no broker names the coordinator of a group is final, and the consumer crashes for good. It
// occurs for a moment whenever brokers restart, so it is made retriable like every other error of a broker that is not ready
// (tulios/kafkajs#1630, #1445, open).
mend<Record<string, ClassOf<object> | undefined>>('errors', (exports) => {
  const found = exports['KafkaJSGroupCoordinatorNotFound'];
  // The constructor sets it to false on each instance.
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

// kafkajs 2.2.4 names all partitions in each fetch request, and the broker all of them in each answer: 84 of them cost the
// worker 0.65 ms, and the broker as much, for one record. Its encoders and decoders know fetch sessions,
// but nothing uses them. Each consumer has brokers of its own, so each session belongs to one broker object.
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
  prototype.fetch = async function (this: Broker, request: FetchRequest): Promise<SessionAnswer> {
    const build = this.lookupRequest(apiKey, definition);
    const session = sessions.get(this) ?? new FetchSession();
    sessions.set(this, session);
    const asked = session.request(request.topics);
    try {
      const answer = await send.call(this, build({ ...request, ...asked }));
      session.answered(asked, answer);
      return answer;
    } catch (error) {
      session.failed(asked);
      throw error;
    }
  };
});

/** From the first packet of a connection to the broker's first answers, the login included. */
const CONNECT_MS = 5_000;

type Question = (asked: { nodeId: number | null; broker: Broker }) => Promise<unknown>;
interface BrokerPool {
  readonly seedBroker: Broker | undefined;
  readonly brokers: Readonly<Record<string, Broker>>;
  withBroker(question: Question): Promise<unknown>;
}

const failedAt = new Map<string, number>();

/** The broker to begin with: the first that has not failed, or the one whose failure is the longest ago. */
export function startingBroker(addresses: readonly string[]): string[] {
  const failed = (address: string): number => failedAt.get(address) ?? 0;
  return addresses.toSorted((a, b) => failed(a) - failed(b)).slice(0, 1);
}

// A frozen broker accepts connections and answers nothing. kafkajs 2.2.4 waits for its whole request timeout, keeps the
// connection as a good one, and begins with the same broker again: it tries the next broker only after a failed connection. So
// such a connection fails here, as a refused one does.
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

// kafkajs sends a request that any broker can answer to a random one, connected or not. A connected broker has answered a
// moment ago, so it is preferred.
mend<ClassOf<BrokerPool>>('cluster/brokerPool', ({ prototype }) => {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its pool below
  const { withBroker } = prototype;
  prototype.withBroker = async function (this: BrokerPool, question: Question): Promise<unknown> {
    const connected = [this.seedBroker, ...Object.values(this.brokers)].filter((one) => one?.isConnected() === true);
    const broker = connected[Math.floor(Math.random() * connected.length)];
    try {
      if (broker !== undefined) return await question({ nodeId: broker.nodeId, broker });
    } catch {
      // The question goes to the other brokers.
    }
    return withBroker.call(this, question);
  };
});

// kafkajs 2.2.4 splits the address that it begins with at its first colon, which an IPv6 address has inside. So such an address
// reaches it as [2001-db8--1]:9092, and each connection restores it. kafkajs does not split the addresses that brokers report.

export function splittable(address: string): string {
  const end = address.lastIndexOf(':');
  const host = address.slice(0, end).replace(/^\[(.*)\]$/, '$1');
  return host.includes(':') ? `[${host.replaceAll(':', '-')}]${address.slice(end)}` : address;
}

const meant = (host: string): string => /^\[(.*)\]$/.exec(host)?.[1]?.replaceAll('-', ':') ?? host;

const factory = kafkajsModule('network/socketFactory')?.exports as () => ISocketFactory;
const usual = factory();

export const openSocket: ISocketFactory = (asked) => usual({ ...asked, host: meant(asked.host) });

/** `Encoded` is what kafkajs makes requests of: it copies `buffer` and checks that `buf` is a Buffer. */
type Encoded = Readonly<Record<'buf' | 'buffer', Buffer>>;
type Produce = (request: UnencodedProduce) => { encode: () => Promise<Encoded> };

// kafkajs 2.2.4 allocates 512 bytes for each record and each header, and a buffer for each number; then it copies the records eight
// times, most times through buffers that double. This writes the same bytes at once, and kafkajs copies them twice.
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

// kafkajs 2.2.4 copies all headers of a record for each header, and counts with BigInt: a record with eight headers costs 11 µs
// to read. This reads the same in 2 µs.
mend('protocol/recordBatch/record/v0/decoder', (_, module) => (module.exports = decodedRecord));

/** The members of kafkajs' request queue of one broker that schedule its look for waiting requests. */
export interface RequestQueue {
  readonly pending: readonly unknown[];
  /** The broker asked for no request before this time; Unix time in milliseconds, -1 for never. */
  readonly throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
}

/** Interval of the look at requests above the in-flight limit, beside the one at each answer. */
const CHECK_MS = 10;

// kafkajs 2.2.4 sets a timer of negative time, which is 1 ms, again and again whether or not a request waits: each
// connection wakes its process a thousand times a second for nothing (tulios/kafkajs#1704, #1556, #1751, unmerged fixes).
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

/** The members of kafkajs' broker that a request of our own needs. */
export interface AskedBroker {
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
