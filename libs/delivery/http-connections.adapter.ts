import { isIPv6, type Socket } from 'node:net';
import type { ConnectTimes, TimedConnector } from '@relay/egress';
import type { buildConnector } from 'undici';
import { AnswerReader, type AnswerHead, type AnswerLimits } from './answer-reader.js';
import type { HttpExchange } from './http-sender.adapter.js';

/** A request that needs a connection. It is skipped once it is settled. */
type Taker = Pick<HttpExchange, 'settled' | 'start'>;

/** The connections of one partner to one origin. */
interface Origin {
  readonly key: string;
  readonly target: buildConnector.Options;
  readonly idle: IdleConnection[];
  readonly waiting: Taker[];
  open: number;
  resting: number;
}

interface IdleConnection {
  readonly connection: HttpConnection;
  /** Time until which the connection may be reused, by `performance.now()`. */
  readonly until: number;
}

interface ConnectionSettings extends AnswerLimits {
  /** Milliseconds that an unused connection stays open, unless the endpoint's `Keep-Alive` header says otherwise. */
  readonly keepAliveMs: number;
  /** Maximum connections of one partner to one origin. Further requests wait for one of them. */
  readonly perOrigin: number;
  /** Maximum unused connections to all origins. Beyond it, the least recently used connection is closed. */
  readonly maxIdle: number;
}

/**
 * Keep-alive connections, by partner and origin; the most recently used is taken first. Partners never share a connection.
 * Therefore bytes that an endpoint sends after its response can never be taken for the response to another partner's
 * request.
 */
export class HttpConnections {
  readonly #origins = new Map<string, Origin>();
  readonly #originOf = new WeakMap<HttpConnection, Origin>();
  #resting: HttpConnection[] = [];
  #starting: { readonly connection: HttpConnection; readonly taker: Taker }[] = [];
  /** Unused connections, the least recently used first. */
  readonly #idle = new Set<HttpConnection>();
  #sweep: NodeJS.Timeout | undefined;

  constructor(
    private readonly connect: TimedConnector,
    private readonly settings: ConnectionSettings,
  ) {}

  /**
   * Starts the request on a connection of the partner to the origin, as soon as one is free.
   * @throws if `name` is not an origin
   */
  take(partnerId: string, name: string, taker: Taker): void {
    const key = `${partnerId} ${name}`;
    const origin = this.#origins.get(key) ?? newOrigin(key, name);
    const connection = this.#unused(origin);
    if (connection !== undefined) this.#startSoon(connection, taker);
    else if (origin.open < this.settings.perOrigin && origin.resting <= origin.waiting.length)
      taker.start(this.#open(origin));
    else origin.waiting.push(taker);
  }

  /**
   * Takes back a connection whose response was read completely. An endpoint may close a connection right after its response.
   * If the next request is written before the relay notices, the relay cannot tell whether the endpoint received it, and may
   * deliver it twice. So the connection first rests until the check phase of the event loop, in which `setImmediate`
   * callbacks run. A request on it waits for the check phase once more before it is written.
   */
  giveBack(connection: HttpConnection): void {
    this.#at(connection).resting += 1;
    if (this.#resting.push(connection) === 1) setImmediate(() => this.#rested());
  }

  /** Closes a connection, whatever its state. A waiting request can then open a new connection at once. */
  drop(connection: HttpConnection): void {
    const origin = this.#at(connection);
    this.#destroy(connection, origin);
    const taker = nextWaiting(origin);
    if (taker !== undefined) taker.start(this.#open(origin));
    else if (origin.open === 0) this.#origins.delete(origin.key);
  }

  /** Closes a connection and returns a new one to the same origin, which does not count as an additional connection. */
  renew(connection: HttpConnection): HttpConnection {
    const origin = this.#at(connection);
    this.#destroy(connection, origin);
    return this.#open(origin);
  }

  /** Closes the unused connections. Call it only when no request is running. */
  close(): void {
    this.#rested();
    clearTimeout(this.#sweep);
    for (const { idle } of this.#origins.values()) for (const { connection } of idle) connection.destroy();
    this.#origins.clear();
  }

  #at(connection: HttpConnection): Origin {
    return this.#originOf.get(connection) as Origin;
  }

  #unused(origin: Origin): HttpConnection | undefined {
    for (;;) {
      const last = origin.idle.pop();
      if (last === undefined) return undefined;
      this.#idle.delete(last.connection);
      if (!last.connection.isOver && last.until > performance.now()) return last.connection;
      this.#destroy(last.connection, origin);
    }
  }

  #rested(): void {
    const rested = this.#resting;
    this.#resting = [];
    for (const connection of rested) {
      this.#at(connection).resting -= 1;
      if (connection.isOver) this.drop(connection);
      else this.#serve(connection);
    }
  }

  /** Starts the request on a kept connection after the event loop has polled all sockets once more. */
  #startSoon(connection: HttpConnection, taker: Taker): void {
    if (this.#starting.push({ connection, taker }) === 1) setImmediate(() => this.#startAll());
  }

  #startAll(): void {
    const starting = this.#starting;
    this.#starting = [];
    for (const { connection, taker } of starting) {
      if (!taker.settled) taker.start(connection.isOver ? this.renew(connection) : connection);
      else if (connection.isOver) this.drop(connection);
      else this.#serve(connection);
    }
  }

  #serve(connection: HttpConnection): void {
    const origin = this.#at(connection);
    const taker = nextWaiting(origin);
    if (taker !== undefined) this.#startSoon(connection, taker);
    else {
      this.#idle.add(connection);
      origin.idle.push({ connection, until: performance.now() + connection.keepAliveMs });
      const [oldest] = this.#idle;
      if (this.#idle.size > this.settings.maxIdle && oldest !== undefined) this.#lost(oldest);
      this.#sweep ??= setTimeout(() => this.#closeUnused(), connection.keepAliveMs).unref();
    }
  }

  #closeUnused(): void {
    this.#sweep = undefined;
    const now = performance.now();
    const unused = [...this.#origins.values()].flatMap(({ idle }) => idle);
    for (const { connection, until } of unused) if (until <= now) this.#lost(connection);
    const next = Math.min(...unused.map(({ until }) => (until > now ? until : Infinity)));
    if (next < Infinity) this.#sweep = setTimeout(() => this.#closeUnused(), next - now + 1).unref();
  }

  #open(origin: Origin): HttpConnection {
    const connection: HttpConnection = new HttpConnection(this.connect, origin.target, this.settings, () =>
      this.#lost(connection),
    );
    this.#originOf.set(connection, origin);
    origin.open += 1;
    this.#origins.set(origin.key, origin);
    return connection;
  }

  /** Drops an unused connection that has ended. A resting connection is dropped when its rest is over. */
  #lost(connection: HttpConnection): void {
    const { idle } = this.#at(connection);
    const at = idle.findIndex((one) => one.connection === connection);
    if (at === -1) return;
    idle.splice(at, 1);
    this.#idle.delete(connection);
    this.drop(connection);
  }

  #destroy(connection: HttpConnection, origin: Origin): void {
    origin.open -= 1;
    connection.destroy();
  }
}

function newOrigin(key: string, name: string): Origin {
  const { protocol, host, hostname, port } = new URL(name);
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  const target = { protocol, host, hostname: isIPv6(bare) ? bare : hostname, port };
  return { key, target, idle: [], waiting: [], open: 0, resting: 0 };
}

function nextWaiting(origin: Origin): Taker | undefined {
  let taker = origin.waiting.shift();
  while (taker?.settled === true) taker = origin.waiting.shift();
  return taker;
}

/** When the steps of one request ended, by `performance.now()`. */
export interface AskTimes extends ConnectTimes {
  /** Time at which the request got its connection, which may still have to be opened. */
  readonly beganAt: number;
  readonly isReused: boolean;
  /** Time at which the connection was open, including TLS. */
  openedAt?: number;
  /** Time of the first byte of the response. It is set only if the response came in more than one chunk. */
  firstByteAt?: number;
}

/**
 * Milliseconds that are subtracted from the time in a `Keep-Alive` header, because the endpoint counts from the moment at
 * which it sent its response.
 */
const KEEP_ALIVE_MARGIN_MS = 2_000;
const MAX_KEEP_ALIVE_MS = 60_000;

/** One HTTP/1.1 connection with one request at a time. */
export class HttpConnection {
  /** Number of responses that have come over the socket; 0 if the socket is new. */
  answers = 0;
  /** Whether the connection has ended and can take no further request. */
  isOver = false;
  /** Milliseconds that the connection may stay open without a request after its last response. */
  keepAliveMs: number;
  #socket: Socket | undefined;
  #asker: HttpExchange | undefined;
  #times: AskTimes | undefined;
  #reader: AnswerReader | undefined;
  #isAnswered = false;

  /** @param lost called if the connection ends while no request is running on it */
  constructor(
    private readonly connect: TimedConnector,
    private readonly target: buildConnector.Options,
    private readonly limits: ConnectionSettings,
    private readonly lost: () => void,
  ) {
    this.keepAliveMs = limits.keepAliveMs;
  }

  /**
   * Sends a request as soon as the connection is open, and stores in `times` when its steps ended. The bytes must not be
   * changed before the response has been read.
   */
  ask(request: Buffer, asker: HttpExchange, times: AskTimes): void {
    this.#asker = asker;
    this.#times = times;
    this.#reader = new AnswerReader(this.limits);
    this.#isAnswered = false;
    if (this.#socket !== undefined) this.#socket.write(request);
    else
      this.connect(
        this.target,
        (...[fault, socket]) => {
          if (fault !== null) this.#end(fault);
          else if (this.isOver) socket.destroy();
          else this.#opened(socket, request, times);
        },
        times,
      );
  }

  destroy(): void {
    this.isOver = true;
    this.#asker = undefined;
    this.#socket?.destroy();
  }

  #opened(socket: Socket, request: Buffer, times: AskTimes): void {
    this.#socket = socket;
    times.openedAt = performance.now();
    socket
      .on('data', (bytes: Buffer) => this.#read(bytes))
      .on('error', (fault) => this.#end(fault))
      .on('end', () => this.#end(undefined))
      .on('close', () => this.#end(undefined));
    socket.write(request);
  }

  #read(bytes: Buffer): void {
    const [asker, reader] = [this.#asker, this.#reader];
    // No request is running, so these bytes answer nothing. They would be taken for the next response otherwise.
    if (asker === undefined || reader === undefined) return this.#end(undefined);
    this.#isAnswered = true;
    const isNew = reader.head === undefined;
    let progress: ReturnType<AnswerReader['read']> | undefined;
    let fault: unknown;
    try {
      progress = reader.read(bytes);
    } catch (thrown) {
      fault = thrown;
    }
    const { head } = reader;
    // If the whole response came in one chunk, the first byte has no time of its own: it came when the response ended.
    if (progress === 'more' && this.#times !== undefined) this.#times.firstByteAt ??= performance.now();
    // The status is valid whatever follows it, even if a fault follows in the same chunk.
    if (isNew && head !== undefined) asker.answered(head, this.limits.keptBytes === 0 ? undefined : reader);
    if (fault !== undefined) this.#end(fault);
    else if (head !== undefined && progress !== 'more') this.#ended(asker, head, progress === 'end' && !reader.hasMore);
  }

  #ended(asker: HttpExchange, { closes, keepAliveMs }: AnswerHead, isWhole: boolean): void {
    this.#asker = undefined;
    this.answers += 1;
    if (keepAliveMs !== undefined) this.keepAliveMs = Math.min(keepAliveMs - KEEP_ALIVE_MARGIN_MS, MAX_KEEP_ALIVE_MS);
    // If the response came before the whole request was written, the endpoint does not read the rest of the request.
    const isWritten = this.#socket?.writableLength === 0;
    asker.ended(isWhole && !closes && isWritten && this.keepAliveMs > 0);
  }

  #end(fault: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    const asker = this.#asker;
    this.#asker = undefined;
    this.#socket?.destroy();
    if (asker === undefined) this.lost();
    else if (fault === undefined && this.#reader?.head?.endsAtClose === true) asker.ended(false);
    else asker.broke(fault ?? closedByEndpoint(this.#isAnswered), this.#isAnswered);
  }
}

const closedByEndpoint = (isAnswered: boolean): Error =>
  Object.assign(new Error(`the endpoint closed the connection ${isAnswered ? 'within' : 'before'} its answer`), {
    code: 'ECONNRESET',
  });
