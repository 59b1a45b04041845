import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How many connections read at once, and how often. Each reads 128 KiB, half of which its stream holds: 200 MiB a second in all. */
const READS = 16;
const EVERY_MS = 10;

/**
 * What is still arriving of requests that were answered before their end. Node would read it as fast as it comes and drop it:
 * 200 connections with 4 MiB each keep everybody else waiting for half a second. Here all of them together get a few reads at a
 * time, in turn. The sender still meets its answer and no reset (RFC 9112 section 9.6), and the connection goes on.
 */
export class UnreadRests {
  /** Paused, in the order in which they get their next read. */
  readonly #paused = new Set<Socket>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly reads = READS,
    private readonly everyMs = EVERY_MS,
  ) {}

  /** Once the answer is written, Node begins to drop the rest: from then on it is read in turn. */
  add(request: IncomingMessage, response: ServerResponse): void {
    response.once('finish', () => setImmediate(() => this.#slowDown(request)));
  }

  #slowDown(request: IncomingMessage): void {
    const { socket } = request;
    if (request.complete || socket.destroyed) return;
    const end = (): void => {
      socket.off('data', waitOrEnd).off('close', end);
      this.#paused.delete(socket);
      socket.resume();
    };
    const waitOrEnd = (): void => {
      if (request.complete || socket.destroyed) return end();
      socket.pause();
      this.#paused.add(socket);
      this.#timer ??= setInterval(() => this.readOn(), this.everyMs).unref();
    };
    socket.on('data', waitOrEnd).on('close', end);
    waitOrEnd();
  }

  /** Lets the next ones read once each. */
  readOn(): void {
    for (const socket of [...this.#paused].slice(0, this.reads)) {
      this.#paused.delete(socket);
      socket.resume();
    }
    if (this.#paused.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
