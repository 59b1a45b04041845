import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { Client, errors, type buildConnector } from 'undici';

/** A connection; `answers` counts the answers of its present socket, so 0 means that the socket is new. */
export interface Connection {
  readonly client: Client;
  readonly origin: Origin;
  answers: number;
  /** Bytes that may still be read of the answer: a head, and as much of a body as its reader grants. */
  allowance: number;
}

/** A request for a connection; a settled one is skipped. */
export interface Taker {
  readonly settled: boolean;
  start(connection: Connection): void;
}

interface Origin {
  readonly name: string;
  readonly idle: Connection[];
  readonly waiting: Taker[];
  open: number;
  resting: number;
}

export interface ConnectionSettings {
  /** Maximum of connections to one origin; further requests wait. */
  readonly perOrigin: number;
  /** Maximum of unused connections in all; further ones are closed. */
  readonly maxIdle: number;
  /** Milliseconds that an unused connection is kept, unless the endpoint's `Keep-Alive` names a time. */
  readonly keepAliveMs: number;
  /** Largest head of a response in bytes. */
  readonly maxHeadBytes: number;
}

/**
 * Keep-alive connections by origin, the last used first. Each is an undici `Client` with one request at a time: it costs less
 * CPU than undici's Pool and, unlike it, shows for each request whether its socket was used before.
 */
export class HttpConnections {
  readonly #connect: buildConnector.connector;
  readonly #settings: ConnectionSettings;
  readonly #origins = new Map<string, Origin>();
  #resting: Connection[] = [];
  #idle = 0;

  constructor(connect: buildConnector.connector, settings: ConnectionSettings) {
    this.#connect = connect;
    this.#settings = settings;
  }

  /** Starts the taker on a connection to the origin, now or when one is free. @throws when `name` is no origin */
  take(name: string, taker: Taker): void {
    const origin = this.#origins.get(name) ?? { name, idle: [], waiting: [], open: 0, resting: 0 };
    const connection = origin.idle.pop();
    if (connection !== undefined) {
      this.#idle -= 1;
      taker.start(connection);
    } else if (origin.open < this.#settings.perOrigin && origin.resting <= origin.waiting.length)
      taker.start(this.#open(origin));
    else origin.waiting.push(taker);
  }

  /**
   * Takes back a connection whose response was read completely. An endpoint may close right after its answer. A request that is
   * written before the close is seen is often received but never answered, and would be delivered twice. So the connection
   * rests until the event loop's check phase; undici then polls once more before it writes.
   */
  giveBack(connection: Connection): void {
    connection.answers += 1;
    connection.allowance = this.#settings.maxHeadBytes;
    connection.origin.resting += 1;
    if (this.#resting.push(connection) === 1) setImmediate(() => this.#rested());
  }

  /** Closes a connection in whatever state it is; its place is free at once. */
  drop(connection: Connection): void {
    const { origin } = connection;
    this.#destroy(connection);
    const taker = nextWaiting(origin);
    if (taker !== undefined) taker.start(this.#open(origin));
    else if (origin.open === 0) this.#origins.delete(origin.name);
  }

  /** Replaces a connection by one with a new socket, in the same place. */
  renew(connection: Connection): Connection {
    this.#destroy(connection);
    return this.#open(connection.origin);
  }

  /** Closes the unused connections; call it when none is in use. */
  async close(): Promise<void> {
    this.#rested();
    const idle = [...this.#origins.values()].flatMap((origin) => origin.idle);
    this.#origins.clear();
    await Promise.all(idle.map(({ client }) => client.destroy()));
  }

  #rested(): void {
    const rested = this.#resting;
    this.#resting = [];
    for (const connection of rested) {
      connection.origin.resting -= 1;
      if (connection.answers === 0) this.drop(connection);
      else this.#serve(connection);
    }
  }

  #serve(connection: Connection): void {
    const taker = nextWaiting(connection.origin);
    if (taker !== undefined) taker.start(connection);
    else if (this.#idle >= this.#settings.maxIdle) this.drop(connection);
    else {
      this.#idle += 1;
      connection.origin.idle.push(connection);
    }
  }

  #open(origin: Origin): Connection {
    const { keepAliveMs, maxHeadBytes } = this.#settings;
    const client = new Client(origin.name, {
      connect: (target, ready) =>
        this.#connect(target, (...[fault, socket]) => {
          if (fault === null) ready(null, measured(socket, connection));
          else ready(fault, null);
        }),
      allowH2: false,
      pipelining: 1,
      maxHeaderSize: maxHeadBytes,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: 60_000,
      // The deadline of the exchange covers both; undici's own timers would only cost CPU.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const connection: Connection = { client, origin, answers: 0, allowance: maxHeadBytes };
    client.on('disconnect', () => this.#lost(connection));
    origin.open += 1;
    this.#origins.set(origin.name, origin);
    return connection;
  }

  // The exchange handles a connection in use: an unwritten request gets a new socket from the client.
  #lost(connection: Connection): void {
    connection.answers = 0;
    const at = connection.origin.idle.indexOf(connection);
    if (at === -1) return;
    connection.origin.idle.splice(at, 1);
    this.#idle -= 1;
    this.drop(connection);
  }

  #destroy(connection: Connection): void {
    connection.origin.open -= 1;
    connection.client.destroy(null, noop);
  }
}

const SLICE_BYTES = 1_024;

/**
 * Passes received bytes to undici's parser in small slices, and none beyond the connection's allowance. The parser counts names
 * and values only, keeps two Buffers for each header, and above its limit reads the rest of a chunk with an error for each
 * further header: 64 KiB of the shortest headers cost 200 ms of processor time and megabytes of memory.
 */
function measured(socket: Socket, connection: Connection): Socket {
  socket.read = function (this: Socket, size?: number): unknown {
    if (this.destroyed) return null;
    if (connection.allowance <= 0) {
      this.destroy(new errors.HeadersOverflowError());
      return null;
    }
    const slice = Math.min(this.readableLength, SLICE_BYTES);
    connection.allowance -= slice;
    return Duplex.prototype.read.call(this, size ?? (slice || undefined));
  };
  return socket;
}

function nextWaiting(origin: Origin): Taker | undefined {
  let taker = origin.waiting.shift();
  while (taker?.settled === true) taker = origin.waiting.shift();
  return taker;
}

function noop(): void {}
