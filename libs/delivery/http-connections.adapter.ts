import { isIPv6, type Socket } from 'node:net';
import type { ConnectTimes, TimedConnector } from '@relay/egress';
import type { buildConnector } from 'undici';
import { AnswerReader, type AnswerHead, type AnswerLimits } from './answer-reader.js';
import type { HttpExchange } from './http-sender.adapter.js';

/** A request for a connection; a settled one is skipped. */
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
  /** By `performance.now()`. */
  readonly until: number;
}

interface ConnectionSettings extends AnswerLimits {
  /** Milliseconds that an unused connection is kept, unless the endpoint's `Keep-Alive` names a time. */
  readonly keepAliveMs: number;
  /** Maximum of connections of one partner to one origin; further requests wait. */
  readonly perOrigin: number;
  /** Maximum of unused connections in all; a further one ends the one that was used least recently. */
  readonly maxIdle: number;
}

/**
 * Keep-alive connections by partner and origin, the last used first. Partners share none: whatever an endpoint sends behind its
 * answer, it can never be the answer to another partner's request.
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

  /** Starts the taker on a connection of the partner to the origin, now or when one is free. @throws when `name` is no origin */
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
   * Takes back a connection whose response was read completely. An endpoint may close right after its answer. If a request is
   * written before the close is seen, the endpoint often receives it without answering, and the relay would deliver it twice. So
   * the connection rests until the event loop's check phase, and each kept one waits for another before it is written to.
   */
  giveBack(connection: HttpConnection): void {
    this.#at(connection).resting += 1;
    if (this.#resting.push(connection) === 1) setImmediate(() => this.#rested());
  }

  /** Closes a connection in whatever state it is; its place is free at once. */
  drop(connection: HttpConnection): void {
    const origin = this.#at(connection);
    this.#destroy(connection, origin);
    const taker = nextWaiting(origin);
    if (taker !== undefined) taker.start(this.#open(origin));
    else if (origin.open === 0) this.#origins.delete(origin.key);
  }

  /** Replaces a connection by one with a new socket, in the same place. */
  renew(connection: HttpConnection): HttpConnection {
    const origin = this.#at(connection);
    this.#destroy(connection, origin);
    return this.#open(origin);
  }

  /** Closes the unused connections; call it when none is in use. */
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

  /** Starts the taker on a kept connection, after the event loop has polled all sockets again. */
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

  /** Drops an unused connection that has ended. A resting one is dropped when it has rested. */
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

/** The steps of one request on a connection, by `performance.now()`. */
export interface AskTimes extends ConnectTimes {
  /** It got the connection, which may have to be opened. */
  readonly beganAt: number;
  readonly isReused: boolean;
  /** The connection was opened, with TLS. */
  openedAt?: number;
  /** Set if the answer came in several pieces. */
  firstByteAt?: number;
}

/** Subtracted from the time of a `Keep-Alive`, in ms: the endpoint counts from the moment it sent its answer. */
const KEEP_ALIVE_MARGIN_MS = 2_000;
const MAX_KEEP_ALIVE_MS = 60_000;

/** One HTTP/1.1 connection with one request at a time. */
export class HttpConnection {
  /** Answers of its socket, so 0 means that the socket is new. */
  answers = 0;
  /** Whether it ended; it takes no request any more. */
  isOver = false;
  /** Milliseconds that it may stay unused from now on. */
  keepAliveMs: number;
  #socket: Socket | undefined;
  #asker: HttpExchange | undefined;
  #times: AskTimes | undefined;
  #reader: AnswerReader | undefined;
  #isAnswered = false;

  /** @param lost called when the connection ends while no exchange waits for an answer */
  constructor(
    private readonly connect: TimedConnector,
    private readonly target: buildConnector.Options,
    private readonly limits: ConnectionSettings,
    private readonly lost: () => void,
  ) {
    this.keepAliveMs = limits.keepAliveMs;
  }

  /** Sends a request, when it is connected. The bytes must stay unchanged until the answer. Notes the steps in `times`. */
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
    // No request asked for these bytes. If the connection stayed open, they would be taken for the answer to the next request.
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
    // An answer in one piece has no time of its first byte, which is that of its end.
    if (progress === 'more' && this.#times !== undefined) this.#times.firstByteAt ??= performance.now();
    // The status counts whatever follows it, even in the same piece.
    if (isNew && head !== undefined) asker.answered(head, this.limits.keptBytes === 0 ? undefined : reader);
    if (fault !== undefined) this.#end(fault);
    else if (head !== undefined && progress !== 'more') this.#ended(asker, head, progress === 'end' && !reader.hasMore);
  }

  #ended(asker: HttpExchange, { closes, keepAliveMs }: AnswerHead, isWhole: boolean): void {
    this.#asker = undefined;
    this.answers += 1;
    if (keepAliveMs !== undefined) this.keepAliveMs = Math.min(keepAliveMs - KEEP_ALIVE_MARGIN_MS, MAX_KEEP_ALIVE_MS);
    // An answer that came before the whole request was written says that the endpoint does not read the rest.
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
