import { isIPv6 } from 'node:net';
import type { TimedConnector } from '@relay/egress';
import type { buildConnector } from 'undici';
import { HttpConnection, type ConnectionLimits } from './http-connection.adapter.js';

/** A request for a connection; a settled one is skipped. */
export interface Taker {
  readonly settled: boolean;
  start(connection: HttpConnection): void;
}

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

export interface ConnectionSettings extends ConnectionLimits {
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

  /** Only of an unused one: a resting one is dropped when it has rested. */
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
