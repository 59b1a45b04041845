import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The connections that are protected for one caller may be at most a third as many as the unprotected connections (dynamic
 * thresholds, Choudhury and Hahne 1998).
 */
const FREE_FOR_EACH = 3;

/**
 * The open connections of a process. When the limit is reached, a new connection is accepted and an older one is ended,
 * because otherwise a caller with many idle connections locks out everyone else. The oldest connection without a credential
 * is ended first. A credential protects the connections of its caller from this: up to a quarter of all connections if no
 * other caller has protected ones. Each further caller can protect up to a third of the connections that are still
 * unprotected, so there is always room for another caller.
 */
export class Connections {
  /** Connections without a credential, oldest first. */
  readonly #strangers = new Set<Socket>();
  readonly #callers = new Map<Socket, string>();
  readonly #counts = new Map<string, number>();
  #open = 0;

  constructor(
    private readonly most: number,
    /** Called for each connection that was ended to make room for a new one. */
    private readonly ended: () => void,
  ) {}

  admit(socket: Socket): void {
    this.#open += 1;
    this.#strangers.add(socket);
    socket.once('close', () => {
      this.#open -= 1;
      this.#strangers.delete(socket);
      this.#forget(socket);
    });
    if (this.#open <= this.most) return;
    const [oldest = socket] = this.#strangers;
    this.#strangers.delete(oldest); // closing takes a while, and the next one needs room too
    oldest.destroy();
    this.ended();
  }

  /** Records that a request on this connection carried a valid credential of the caller. */
  know(socket: Socket, caller: string): void {
    if (this.#callers.has(socket) || socket.destroyed) return;
    const count = this.protectedOf(caller);
    if ((count + 1) * FREE_FOR_EACH > this.most - this.#callers.size - 1) return;
    this.#callers.set(socket, caller);
    this.#counts.set(caller, count + 1);
    this.#strangers.delete(socket);
  }

  /** Ends connections that have sent no byte. Node treats them as busy while a server closes, until a request times out. */
  endUnused(): void {
    for (const socket of this.#strangers) if (socket.bytesRead === 0) socket.destroy();
  }

  /** Whether a request on this connection carried a credential that protects it. */
  isKnown(socket: Socket): boolean {
    return this.#callers.has(socket);
  }

  /** Returns how many connections the credential of this caller protects. */
  protectedOf(caller: string): number {
    return this.#counts.get(caller) ?? 0;
  }

  #forget(socket: Socket): void {
    const caller = this.#callers.get(socket);
    if (caller === undefined) return;
    this.#callers.delete(socket);
    const left = (this.#counts.get(caller) ?? 1) - 1;
    if (left > 0) this.#counts.set(caller, left);
    else this.#counts.delete(caller);
  }
}

/**
 * Maximum number of unanswered requests of a connection. Few clients pipeline requests (RFC 9112 section 9.3.2), and ours do
 * not.
 */
const MOST = 8;

interface Open {
  /** Called when all earlier requests are answered. */
  readonly begin: () => void;
  readonly isWhole: () => boolean;
}

/**
 * The unanswered requests of each connection. Node starts every request that it finds in one read, which may be 1,500
 * requests in 64 KiB, and keeps the answers until the client reads them. A few such connections can exhaust the memory. This
 * class therefore handles one request of a connection at a time, so that a connection delays only itself.
 */
export class OpenRequests {
  readonly #open = new WeakMap<Socket, Open[]>();
  /** Connections that have sent bytes that are not HTTP. */
  readonly #ended = new WeakSet<Socket>();

  constructor(private readonly handle: RequestListener) {}

  /**
   * Handles the request when all earlier requests are answered. If a connection has too many unanswered requests, ends it.
   */
  begin(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    if (socket.destroyed) return;
    let open = this.#open.get(socket);
    if (open === undefined) this.#open.set(socket, (open = []));
    if (open.length === MOST) {
      socket.destroy();
      return;
    }
    open.push({ begin: () => this.handle(request, response), isWhole: () => request.complete });
    response.on('close', () => {
      open.shift();
      if (!socket.destroyed) open[0]?.begin();
    });
    if (open.length === 1) open[0]?.begin();
  }

  /**
   * Call when a connection has sent bytes that are not HTTP. Calls `then` when the requests before these bytes are answered
   * (RFC 9112 section 9.3.2), at most once for each connection. If the bytes come within the body of a request, that request
   * gets no answer of its own.
   */
  end(socket: Socket, then: () => void): void {
    if (this.#ended.has(socket)) return;
    this.#ended.add(socket);
    const open = this.#open.get(socket) ?? [];
    if (open.at(-1)?.isWhole() === false) open.pop();
    if (open.length === 0) then();
    else open.push({ begin: then, isWhole: () => true });
  }
}

/** Node's parser of requests. Its member `onIncoming` starts a request. Node has no public type for it. */
interface Parser {
  onIncoming: (request: IncomingMessage, keepsAlive: boolean) => number;
}

/**
 * Makes the parser of a connection stop when the connection has ended. Without this, Node parses every byte of a read even
 * if the connection has ended meanwhile. That may be 3,600 requests, which take 100 ms, and no other caller is answered in
 * this time.
 */
export function stopParsingWhenEnded(socket: Socket & { readonly parser?: Parser }): void {
  const { parser } = socket;
  if (parser === undefined) return;
  const begin = parser.onIncoming;
  parser.onIncoming = function (this: Parser, request, keepsAlive): number {
    return socket.destroyed ? -1 : begin.call(this, request, keepsAlive);
  };
}

/** A body may have at most 1,000 chunks if they have less than 64 bytes on average. No honest client exceeds this. */
const [MANY, SHORT] = [1_000, 64];
/**
 * More than 5,000 short chunks of all bodies within 200 ms are an attack. To parse this many chunks takes some 10 ms. After
 * that, a body with short chunks may have only 64 chunks until the 200 ms are over.
 */
const [BUSY, WINDOW_MS, FEW] = [5_000, 200, 64];
/**
 * Name of the function in Node's parser that receives a chunk of a body. The member that holds this function has no public
 * name.
 */
const TAKES_PIECE = 'parserOnBody';

/** State of Node's parser of requests while it receives a chunk. */
interface Parsing {
  readonly socket: Socket | null;
  readonly incoming: Receiving | null;
}
type TakePiece = (this: Parsing, piece: Buffer) => void;

/**
 * The parsers that are already limited. Node reuses a parser for further connections, also in its HTTP client, so answers to
 * the client are limited in the same way.
 */
const bounded = new WeakSet<object>();
/** Member of a request that counts its chunks. A WeakMap in its place costs more than the count itself. */
const RECEIVED = Symbol('relay.received');
type Receiving = IncomingMessage & { [RECEIVED]?: { pieces: number; bytes: number } };
const lately = { since: 0, short: 0 };

/**
 * Ends a connection if a body arrives in many tiny chunks. Node makes a Buffer of each chunk (RFC 9112 section 7.1), so 64
 * KiB in chunks of one byte take 16 MiB. Node's parser cannot stop inside a body. It parses every byte of a read, with up to
 * 11,000 such chunks in 64 KiB, while all other callers wait. After the connection has ended, the parser therefore skips the
 * remaining chunks, which takes some 0.1 µs for each.
 */
export function endAtTinyPieces(socket: Socket & { readonly parser?: Record<string, unknown> }): void {
  const { parser } = socket;
  if (parser === undefined || bounded.has(parser)) return;
  const found = Object.entries(parser).find(takesPieces);
  if (found === undefined) return;
  const [member, takePiece] = found;
  bounded.add(parser);
  const takeBounded: TakePiece = function (piece) {
    if (this.socket === null || this.incoming === null || !isTiny(this.incoming, piece)) {
      takePiece.call(this, piece);
      return;
    }
    parser[member] = null;
    this.socket.once('close', () => (parser[member] = takeBounded));
    this.socket.destroy();
  };
  parser[member] = takeBounded;
}

const takesPieces = (entry: [string, unknown]): entry is [string, TakePiece] =>
  typeof entry[1] === 'function' && entry[1].name === TAKES_PIECE;

function isTiny(request: Receiving, { length }: Buffer): boolean {
  const count = (request[RECEIVED] ??= { pieces: 0, bytes: 0 });
  count.pieces += 1;
  count.bytes += length;
  const most = length < SHORT && isBusy() ? FEW : MANY;
  return count.pieces > most && count.bytes < count.pieces * SHORT;
}

/** Counts a short chunk. Returns whether the current window has more short chunks than honest clients send. */
function isBusy(): boolean {
  const now = performance.now();
  if (now - lately.since > WINDOW_MS) Object.assign(lately, { since: now, short: 0 });
  lately.short += 1;
  return lately.short > BUSY;
}

/**
 * Number of requests of which a chunk is read at once, and the pause in ms after that. A chunk has at most 64 KiB, so at
 * most 100 MiB/s are read.
 */
const PIECES = 16;
const EVERY_MS = 10;

/**
 * Reads and drops the rest of requests that were answered before they had arrived completely. Node itself reads the rest as
 * fast as it arrives, and then 200 connections with 4 MiB each delay all other callers. This class reads a few chunks at a
 * time, from all requests in turn. The sender receives its answer instead of a reset (RFC 9112 section 9.6), and the
 * connection can be used again.
 */
export class UnreadRests {
  /** Requests that are paused, in the order in which they will be read further. */
  readonly #paused = new Set<IncomingMessage>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly pieces = PIECES,
    private readonly everyMs = EVERY_MS,
  ) {}

  /**
   * Must be called before the answer is written. Node then sees that the request has a reader, and does not drop the rest
   * itself.
   */
  add(request: IncomingMessage): void {
    request.on('data', () => {
      request.pause();
      this.#paused.add(request);
      this.#timer ??= setInterval(() => this.readOn(), this.everyMs).unref();
      // This chunk may have been the last. Without this check, a closing server treats the connection as busy until the
      // request is read further.
      setImmediate(() => request.complete && this.#resume(request));
    });
    request.on('close', () => this.#paused.delete(request)).on('error', () => undefined);
    request.resume();
  }

  readOn(): void {
    for (const request of [...this.#paused].slice(0, this.pieces)) this.#resume(request);
    if (this.#paused.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #resume(request: IncomingMessage): void {
    this.#paused.delete(request);
    request.resume();
  }
}

/** Total cost of the requests that may start in one turn of the event loop. It stands for a few milliseconds of work. */
const EACH_TURN = 64;
/** Cost of a request that accesses the stores by itself. */
const HEAVY = 8;
/** Cost of a request that accesses the stores in a batch with other requests. */
const LIGHT = 1;

interface Waiting {
  readonly begin: () => void;
  readonly cost: number;
}

/**
 * Limits how many requests start in one turn of the event loop: eight, or 64 light ones. Without the limit, a caller with
 * many connections fills each turn with its requests. A request of another caller takes several turns, and in each of them
 * it waits for all those requests. With the limit, a request waits only once, in the order of arrival. Light requests that
 * start together access the stores in one batch. 64 of them may start, because batches of eight make Kafka a sixth more
 * expensive.
 */
export class RequestTurns {
  #waiting: Waiting[] = [];
  #begun = 0;
  #isNextDue = false;

  /** Starts the request at once if the current turn has room, otherwise in a later turn. */
  take(begin: () => void, isLight = false): void {
    const cost = isLight ? LIGHT : HEAVY;
    if (this.#waiting.length > 0 || this.#begun + cost > EACH_TURN) this.#waiting.push({ begin, cost });
    else this.#begin({ begin, cost });
  }

  #begin({ begin, cost }: Waiting): void {
    this.#begun += cost;
    if (!this.#isNextDue) setImmediate(() => this.#next());
    this.#isNextDue = true;
    begin();
  }

  #next(): void {
    this.#isNextDue = false;
    this.#begun = 0;
    let [count, cost] = [0, 0];
    for (const next of this.#waiting) {
      cost += next.cost;
      if (cost > EACH_TURN) break;
      count += 1;
    }
    for (const next of this.#waiting.splice(0, count)) this.#begin(next);
  }
}

/** Maximum number of requests of one caller that may be in progress. A light request counts as an eighth of a request. */
const HEAVY_AT_ONCE = 8;
const LIGHT_COST = 1 / 8;

interface InProgress {
  cost: number;
  readonly waiting: (() => void)[];
}

/**
 * Limits how many requests of one caller are in progress: eight, or 64 light ones. Every step of a request waits for the
 * steps of all other requests in progress. Without the limit, a caller with 200 connections makes everyone else wait for all
 * of its requests. Requests beyond the limit wait only for requests of the same caller, in the order of arrival.
 */
export class CallerPlaces {
  readonly #callers = new Map<string, InProgress>();

  /**
   * Starts the request at once if the caller has room, otherwise later.
   * @param answer emits `close` when the request is over, even if it has not started yet, and is destroyed from then on
   */
  take(caller: string, answer: Pick<ServerResponse, 'once' | 'destroyed'>, begin: () => void, isLight = false): void {
    // The client has left while its credential was looked up. No `close` follows, so a slot that is taken now stays taken
    // for ever.
    if (answer.destroyed) return;
    const cost = isLight ? LIGHT_COST : 1;
    const own = this.#callers.get(caller) ?? { cost: 0, waiting: [] };
    this.#callers.set(caller, own);
    let hasBegun = false;
    let isOver = false;
    const go = (): void => {
      if (isOver) return;
      hasBegun = true;
      own.cost += cost;
      begin();
    };
    answer.once('close', () => {
      isOver = true;
      if (hasBegun) own.cost -= cost;
      this.#next(caller, own);
    });
    if (own.waiting.length === 0 && own.cost < HEAVY_AT_ONCE) go();
    else own.waiting.push(go);
  }

  #next(caller: string, own: InProgress): void {
    while (own.waiting.length > 0 && own.cost < HEAVY_AT_ONCE) own.waiting.shift()?.();
    if (own.cost === 0 && own.waiting.length === 0) this.#callers.delete(caller);
  }
}
