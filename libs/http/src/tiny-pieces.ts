import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** More pieces of a body than this, shorter than this on average, come from no honest client. */
const [MANY, SHORT] = [1_000, 64];
/** So many short pieces of all bodies together in a window, some 10 ms of work, show an attack: then a body may have few. */
const [BUSY, WINDOW_MS, FEW] = [5_000, 200, 64];
/** The name of the function in Node's parser that takes a piece of a body; its member has no public name. */
const TAKES_PIECE = 'parserOnBody';

/** Node's parser of requests at the moment it takes a piece. */
interface Parsing {
  readonly socket: Socket | null;
  readonly incoming: Receiving | null;
}
type TakePiece = (this: Parsing, piece: Buffer) => void;

/** Parsers go from one connection to the next, also to those of Node's own HTTP client, whose answers are then bounded alike. */
const bounded = new WeakSet<object>();
/** What has arrived of a body stands on its request: a WeakMap would cost each request more than the count. */
const RECEIVED = Symbol('relay.received');
type Receiving = IncomingMessage & { [RECEIVED]?: { pieces: number; bytes: number } };
const lately = { since: 0, short: 0 };

/**
 * Ends the connection when a body on it arrives in many tiny pieces. Node makes a Buffer of each chunk of a body (RFC 9112 section
 * 7.1), so 64 KiB in chunks of one byte take 16 MiB. Node also parses what it has read to the end, 11,000 such chunks in 64 KiB,
 * which would keep all other callers waiting: the parser passes over them from then on, at some 0.1 µs each. Passing over
 * does not end a read early: Node's parser has no way to stop inside a body.
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

/** Counts a short piece. */
function isBusy(): boolean {
  const now = performance.now();
  if (now - lately.since > WINDOW_MS) Object.assign(lately, { since: now, short: 0 });
  lately.short += 1;
  return lately.short > BUSY;
}
