import { createRequire } from 'node:module';
import { FetchSession, type FetchedTopic, type SessionAnswer } from './fetch-session.js';
import type { Socket } from 'node:net';
import type { ISocketFactory } from 'kafkajs';
import { isPlain, produceBytes, type UnencodedProduce } from './produce-bytes.js';
import { decodedRecord } from './decoded-record.js';

const require = createRequire(import.meta.url);

/** A module of kafkajs in the require cache, from which every later `require` gets it. */
export function kafkajsModule(name: string): NodeJS.Module | undefined {
  require(`kafkajs/src/${name}`);
  return require.cache[require.resolve(`kafkajs/src/${name}`)];
}

// For kafkajs 2.2.4 the error that no broker names the coordinator of a group is final, and the consumer crashes for good. It
// occurs for a moment whenever brokers restart, so it is made retriable like every other error of a broker that is not ready
// (tulios/kafkajs#1630, #1445, open).
const errors = kafkajsModule('errors')?.exports as Record<string, { prototype: object }> | undefined;
const found = errors?.['KafkaJSGroupCoordinatorNotFound'];
if (found !== undefined)
  Object.defineProperty(found.prototype, 'retriable', {
    get: () => true,
    set() {
      // The constructor sets it to false on each instance.
    },
  });

interface FetchRequest {
  readonly topics: readonly FetchedTopic[];
}
type Build = (request: FetchRequest) => unknown;
interface Broker {
  lookupRequest(apiKey: number, definition: unknown): Build;
  fetch(request: FetchRequest): Promise<SessionAnswer>;
}
type Send = (this: Broker, request: unknown) => Promise<SessionAnswer>;

// kafkajs 2.2.4 names all partitions in each fetch request, and the broker all of them in each answer: 84 of them cost the
// worker 0.65 ms, and the broker as much, for one record. Its encoders and decoders know fetch sessions,
// but nothing uses them. Each consumer has brokers of its own, so a session belongs to one of these.
const BrokerClass = kafkajsModule('broker')?.exports as { prototype: Broker } | undefined;
const requests = kafkajsModule('protocol/requests')?.exports as { requests: { Fetch?: unknown } } | undefined;
const apiKeys = kafkajsModule('protocol/requests/apiKeys')?.exports as { Fetch?: number } | undefined;
const prototype = BrokerClass?.prototype;
const sendRequest = Object.getOwnPropertySymbols(prototype ?? {}).find(({ description = '' }) =>
  description.endsWith('sendRequest'),
);
const [definition, apiKey] = [requests?.requests.Fetch, apiKeys?.Fetch];

if (prototype !== undefined && sendRequest !== undefined && definition !== undefined && apiKey !== undefined) {
  const send = (prototype as unknown as Record<symbol, Send>)[sendRequest] as Send;
  const sessions = new WeakMap<Broker, FetchSession>();
  const sessionOf = (broker: Broker): FetchSession => {
    const session = sessions.get(broker) ?? new FetchSession();
    sessions.set(broker, session);
    return session;
  };
  prototype.fetch = async function (this: Broker, request: FetchRequest): Promise<SessionAnswer> {
    const build = this.lookupRequest(apiKey, definition);
    const session = sessionOf(this);
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
}

/** From the first packet of a connection to the broker's first answers, the login included. */
const CONNECT_MS = 5_000;

/** Of kafkajs' broker, what this needs. */
interface Broker {
  readonly nodeId: number | null;
  readonly connectionPool: {
    readonly host: string;
    readonly port: number;
    readonly pool: readonly { readonly socket?: Socket }[];
  };
  isConnected(): boolean;
  connect(): Promise<void>;
}
type Question = (asked: { nodeId: number | null; broker: Broker }) => Promise<unknown>;
interface BrokerPool {
  readonly seedBroker: Broker | undefined;
  readonly brokers: Readonly<Record<string, Broker>>;
  withBroker(question: Question): Promise<unknown>;
}

/** When a connection to an address failed last. */
const failedAt = new Map<string, number>();

/** The broker to begin with: the first that has not failed, or the one whose failure is the longest ago. */
export function startingBroker(addresses: readonly string[]): string[] {
  const failed = (address: string): number => failedAt.get(address) ?? 0;
  return addresses.toSorted((a, b) => failed(a) - failed(b)).slice(0, 1);
}

const underWay = new WeakMap<Broker, Promise<void>>();

// A frozen broker accepts connections and answers nothing. kafkajs 2.2.4 waits for its whole request timeout, keeps the
// connection as a good one, and begins with the same broker again: it tries the next broker only after a failed connection. So
// such a connection fails here, as a refused one does.
const BrokerClass = kafkajsModule('broker')?.exports as { prototype: Broker } | undefined;
if (BrokerClass !== undefined) {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its broker below
  const { connect } = BrokerClass.prototype;
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
  BrokerClass.prototype.connect = function (this: Broker): Promise<void> {
    let connecting = underWay.get(this);
    if (connecting === undefined) {
      connecting = connectInTime(this).finally(() => underWay.delete(this));
      underWay.set(this, connecting);
    }
    return connecting;
  };
}

// kafkajs sends a request that any broker can answer to a random one, connected or not. A connected broker has answered a
// moment ago, so it is preferred.
const PoolClass = kafkajsModule('cluster/brokerPool')?.exports as { prototype: BrokerPool } | undefined;
if (PoolClass !== undefined) {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its pool below
  const { withBroker } = PoolClass.prototype;
  PoolClass.prototype.withBroker = async function (this: BrokerPool, question: Question): Promise<unknown> {
    const connected = [this.seedBroker, ...Object.values(this.brokers)].filter((one) => one?.isConnected() === true);
    const broker = connected[Math.floor(Math.random() * connected.length)];
    try {
      if (broker !== undefined) return await question({ nodeId: broker.nodeId, broker });
    } catch {
      // The others are asked.
    }
    return withBroker.call(this, question);
  };
}

// kafkajs 2.2.4 splits the address that it begins with at its first colon, which an IPv6 address has inside. So such an address
// reaches it as [2001-db8--1]:9092, and each connection as it was meant. Addresses that the brokers tell come undivided.

/** An address of a broker as kafkajs can split it. */
export function splittable(address: string): string {
  const end = address.lastIndexOf(':');
  const host = address.slice(0, end).replace(/^\[(.*)\]$/, '$1');
  return host.includes(':') ? `[${host.replaceAll(':', '-')}]${address.slice(end)}` : address;
}

const meant = (host: string): string => /^\[(.*)\]$/.exec(host)?.[1]?.replaceAll('-', ':') ?? host;

const factory = kafkajsModule('network/socketFactory')?.exports as () => ISocketFactory;
const usual = factory();

/** Opens the connections of kafkajs. */
export const openSocket: ISocketFactory = (asked) => usual({ ...asked, host: meant(asked.host) });

/** The parts of an encoder that kafkajs makes requests of: it copies `buffer` and checks that `buf` is a Buffer. */
interface Encoded {
  readonly buf: Buffer;
  readonly buffer: Buffer;
}

type Produce = (request: UnencodedProduce) => { encode: () => Promise<Encoded> };

// kafkajs 2.2.4 allocates 512 bytes for each record and each header, and a buffer for each number; then it copies the records eight
// times, most times through buffers that double. This writes the same bytes (a spec compares them) at once, and kafkajs copies
// them twice. kafkajs takes the request from the module cache with its first produce request, so loading this with `connectKafka`
// is early enough; loaded later, it would have no effect.
const produce = kafkajsModule('protocol/requests/produce/v3/request');
if (produce !== undefined) {
  const kafkajs = produce.exports as Produce;
  produce.exports = (request: UnencodedProduce): ReturnType<Produce> => {
    if (!isPlain(request)) return kafkajs(request);
    const encode = async (): Promise<Encoded> => {
      const bytes = produceBytes(request, Date.now());
      return { buf: bytes, buffer: bytes };
    };
    return { ...kafkajs(request), encode };
  };
}

// kafkajs 2.2.4 copies all headers of a record for each header, and counts with BigInt: a record with eight headers costs 11 µs
// to read. This reads the same (a spec compares them) in 2 µs. kafkajs takes its decoder from the module cache with its first
// fetch, so loading this with `connectKafka` is early enough; loaded later, it would have no effect.
const decoder = kafkajsModule('protocol/recordBatch/record/v0/decoder');
if (decoder !== undefined) decoder.exports = decodedRecord;

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

// kafkajs 2.2.4 sets a timer again and again whether or not a request waits, of a negative time, which is 1 ms: each
// connection wakes its process a thousand times a second for nothing (tulios/kafkajs#1704, #1556, #1751, unmerged fixes).
const RequestQueueClass = kafkajsModule('network/requestQueue')?.exports as { prototype: object } | undefined;
if (RequestQueueClass !== undefined) {
  Object.assign(RequestQueueClass.prototype, {
    scheduleCheckPendingRequests(this: RequestQueue): void {
      if (this.pending.length === 0 || this.throttleCheckTimeoutId !== null) return;
      const check = (): void => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      };
      this.throttleCheckTimeoutId = setTimeout(check, Math.max(this.throttledUntil - Date.now(), CHECK_MS));
    },
  });
}
