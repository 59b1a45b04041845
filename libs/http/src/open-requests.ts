import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Hardly a client sends a second request before the first is answered (RFC 9112 section 9.3.2); none of ours does. */
const MOST = 8;

/**
 * Requests of a connection that are not answered yet. Node begins with each request that it finds in what it reads at once,
 * 1,500 of them in 64 KiB, and keeps their answers until they are read: a few such connections would take all memory.
 */
export class OpenRequests {
  readonly #counts = new WeakMap<Socket, number>();

  /** False when the connection has too many: it is ended, and no request of it is worth any work. */
  begin({ socket }: IncomingMessage, response: ServerResponse): boolean {
    if (socket.destroyed) return false;
    const count = this.#countOf(socket) + 1;
    if (count > MOST) {
      socket.destroy();
      return false;
    }
    this.#counts.set(socket, count);
    response.once('close', () => this.#counts.set(socket, this.#countOf(socket) - 1));
    return true;
  }

  #countOf(socket: Socket): number {
    return this.#counts.get(socket) ?? 0;
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
