import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Hardly a client sends a second request before the first is answered (RFC 9112 section 9.3.2); none of ours does. */
const MOST = 8;

interface Open {
  /** Called once those before it are answered. */
  readonly begin: () => void;
  readonly isWhole: () => boolean;
}

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Requests of a connection that are not answered yet. Node begins with each request that it finds in what it reads at once,
 * 1,500 of them in 64 KiB, and keeps their answers until they are read: a few such connections would take all memory. Here a
 * connection has one request handled at a time, so that it waits for itself and not everybody else for it.
 */
export class OpenRequests {
  readonly #open = new WeakMap<Socket, Open[]>();
  /** Connections with bytes that are no request. */
  readonly #ended = new WeakSet<Socket>();

  constructor(private readonly handle: Handle) {}

  /** Handles the request once those before it are answered. A connection with too many is ended, and they are not handled. */
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
   * Calls back once the requests before bytes that are no HTTP are answered (RFC 9112 section 9.3.2), and never again for this
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

/** What this needs of Node's parser of requests, which has no public name: the member that begins with a request. */
interface Parser {
  onIncoming: (request: IncomingMessage, keepsAlive: boolean) => number;
}

/**
 * Node parses to its end what one read brought, also on a connection that has ended meanwhile: 3,600 requests are 100 ms in
 * which nobody else is answered. From now on the parser of this connection gives up where the connection has ended.
 */
export function stopParsingWhenEnded(socket: Socket & { readonly parser?: Parser }): void {
  const { parser } = socket;
  if (parser === undefined) return;
  const begin = parser.onIncoming;
  parser.onIncoming = function (this: Parser, request, keepsAlive): number {
    return socket.destroyed ? -1 : begin.call(this, request, keepsAlive);
  };
}
