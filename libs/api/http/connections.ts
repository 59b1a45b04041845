import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A caller may protect a third of the free connections (dynamic thresholds, Choudhury and Hahne 1998). */
const FREE_FOR_EACH = 3;

/**
 * The open connections of a process. Beyond the limit a new connection is accepted and another one ends; otherwise a
 * caller with many idle connections locks out everyone else. The oldest connection without a credential ends first.
 * A caller's credential protects a quarter of the connections while no other caller has any. Each further caller
 * protects up to a third of the connections that are left, so there is always room for another.
 */
export class Connections {
  /** Connections without a credential, oldest first. */
  readonly #strangers = new Set<Socket>();
  readonly #callers = new Map<Socket, string>();
  readonly #counts = new Map<string, number>();
  #open = 0;

  constructor(
    private readonly most: number,
    /** Called for each connection that ended for a new one. */
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

  /** Records that a request on this connection carried a credential of the caller. */
  know(socket: Socket, caller: string): void {
    if (this.#callers.has(socket) || socket.destroyed) return;
    const count = this.protectedOf(caller);
    if ((count + 1) * FREE_FOR_EACH > this.most - this.#callers.size - 1) return;
    this.#callers.set(socket, caller);
    this.#counts.set(caller, count + 1);
    this.#strangers.delete(socket);
  }

  /** Ends connections without a single byte: while a server closes, Node treats them as busy until a request times out. */
  endUnused(): void {
    for (const socket of this.#strangers) if (socket.bytesRead === 0) socket.destroy();
  }

  /** Whether a request on this connection carried a credential that protects it. */
  isKnown(socket: Socket): boolean {
    return this.#callers.has(socket);
  }

  /** How many connections the credential of a caller protects. */
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

/** Unanswered requests of a connection. Few clients pipeline requests at all (RFC 9112 section 9.3.2); ours never do. */
const MOST = 8;

interface Open {
  /** Called once all earlier requests are answered. */
  readonly begin: () => void;
  readonly isWhole: () => boolean;
}

/**
 * The unanswered requests of each connection. Node begins every request that it finds in one read, 1,500 of them in 64 KiB,
 * and keeps their answers until the client reads them, so a few such connections exhaust the memory. This class handles one
 * request of a connection at a time, so a connection delays only itself.
 */
export class OpenRequests {
  readonly #open = new WeakMap<Socket, Open[]>();
  /** Connections with bytes that are no request. */
  readonly #ended = new WeakSet<Socket>();

  constructor(private readonly handle: RequestListener) {}

  /** Handles the request once all earlier ones are answered. Ends a connection with too many, without handling the rest. */
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
   * Calls back when the requests before bytes that are no HTTP are answered (RFC 9112 section 9.3.2); at most once for a
   * connection. A request whose body ends in such bytes gets no answer of its own.
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

/** The member of Node's request parser that begins a request. Node has no public type for it. */
interface Parser {
  onIncoming: (request: IncomingMessage, keepsAlive: boolean) => number;
}

/**
 * Makes the parser of this connection stop when the connection has ended. By itself Node parses every byte of a read, even
 * if the connection has ended meanwhile: 3,600 requests take 100 ms, in which no other caller is answered.
 */
export function stopParsingWhenEnded(socket: Socket & { readonly parser?: Parser }): void {
  const { parser } = socket;
  if (parser === undefined) return;
  const begin = parser.onIncoming;
  parser.onIncoming = function (this: Parser, request, keepsAlive): number {
    return socket.destroyed ? -1 : begin.call(this, request, keepsAlive);
  };
}

/** No honest client sends a body in more than 1,000 pieces of less than 64 bytes on average. */
const [MANY, SHORT] = [1_000, 64];
/** 5,000 short pieces of all bodies in a window of 200 ms, some 10 ms of work, show an attack: then a body may have 64. */
const [BUSY, WINDOW_MS, FEW] = [5_000, 200, 64];
/** The name of the function in Node's parser that takes a piece of a body; its member has no public name. */
const TAKES_PIECE = 'parserOnBody';

/** Node's parser of requests at the moment it takes a piece. */
interface Parsing {
  readonly socket: Socket | null;
  readonly incoming: Receiving | null;
}
type TakePiece = (this: Parsing, piece: Buffer) => void;

/** Node reuses a parser for further connections. Its HTTP client uses them too, so the client's answers are bounded alike. */
const bounded = new WeakSet<object>();
/** Member of a request that counts the arrived pieces: a WeakMap costs each request more than the count itself. */
const RECEIVED = Symbol('relay.received');
type Receiving = IncomingMessage & { [RECEIVED]?: { pieces: number; bytes: number } };
const lately = { since: 0, short: 0 };

/**
 * Ends the connection when a body on it arrives in many tiny pieces. Node makes a Buffer of each chunk of a body (RFC 9112
 * section 7.1), so 64 KiB in chunks of one byte take 16 MiB. Node's parser cannot stop inside a body: it parses every byte of
 * a read, 11,000 such chunks in 64 KiB, while all other callers wait. After the end the parser therefore skips the remaining
 * chunks, at some 0.1 µs each.
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

/** Counts a short piece. Returns whether the window has more of them than honest clients send. */
function isBusy(): boolean {
  const now = performance.now();
  if (now - lately.since > WINDOW_MS) Object.assign(lately, { since: now, short: 0 });
  lately.short += 1;
  return lately.short > BUSY;
}

/** Requests of which a piece is read at once, and the pause in ms. A piece has at most 64 KiB, so the rate is 100 MiB/s. */
const PIECES = 16;
const EVERY_MS = 10;

/**
 * Reads and drops the rest of requests that were answered before their end. By itself Node reads it as fast as it arrives, and
 * 200 connections with 4 MiB each delay all other callers. This class reads a few pieces at a time, from all requests in turn.
 * The sender receives its answer and no reset (RFC 9112 section 9.6), and the connection continues.
 */
export class UnreadRests {
  /** Paused requests, in the order in which they are read further. */
  readonly #paused = new Set<IncomingMessage>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly pieces = PIECES,
    private readonly everyMs = EVERY_MS,
  ) {}

  /** Must be called before the answer is written: then Node sees a reader and does not drop the rest by itself. */
  add(request: IncomingMessage): void {
    request.on('data', () => {
      request.pause();
      this.#paused.add(request);
      this.#timer ??= setInterval(() => this.readOn(), this.everyMs).unref();
      // That read may have been the last. Without this a closing server treats the connection as busy until its turn.
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

/** Cost of the requests that may begin in one turn of the event loop: a few milliseconds of work. */
const EACH_TURN = 64;
/** Cost of a request that reads or changes something in the stores by itself. */
const HEAVY = 8;
/** Cost of a request that reaches the stores in a batch with others. */
const LIGHT = 1;

interface Waiting {
  readonly begin: () => void;
  readonly cost: number;
}

/**
 * Begins few requests in a turn of the event loop: eight, or 64 light ones. Otherwise a caller on many connections fills each
 * turn with its requests, and another caller's request, which takes several turns, waits for all of them at every step. With
 * this limit a request waits once, in order of arrival. Light requests that begin together reach the stores in one batch;
 * batches of eight cost Kafka a sixth more.
 */
export class RequestTurns {
  #waiting: Waiting[] = [];
  #begun = 0;
  #isNextDue = false;

  /** Begins at once if the turn has room. */
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

/** Requests that one caller may have in progress. A light request counts as an eighth. */
const HEAVY_AT_ONCE = 8;
const LIGHT_COST = 1 / 8;

interface InProgress {
  cost: number;
  readonly waiting: (() => void)[];
}

/**
 * Limits the requests of one caller in progress: eight, or 64 light ones. Every step of a request waits behind the steps of all
 * requests in progress, so without this limit a caller on 200 connections makes everyone else wait for all of its requests.
 * Beyond the limit, requests wait only for requests of the same caller, in order of arrival.
 */
export class CallerPlaces {
  readonly #callers = new Map<string, InProgress>();

  /**
   * Begins at once if the caller has room.
   * @param answer emits `close` when the request is over, even if the request still waits; it is destroyed once it has emitted it
   */
  take(caller: string, answer: Pick<ServerResponse, 'once' | 'destroyed'>, begin: () => void, isLight = false): void {
    // The client left during the look-up of its credential, so no `close` will ever free the place.
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
