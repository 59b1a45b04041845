import type { IncomingMessage } from 'node:http';

/** How many requests are read on at once, and how often. A piece has 64 KiB at most: 100 MiB a second in all. */
const PIECES = 16;
const EVERY_MS = 10;

/**
 * The rest of requests that are answered before their end. Node would read it as fast as it arrives and drop it: 200 connections
 * with 4 MiB each keep everybody else waiting. Here all of them together get a few pieces at a time, in turn. The sender still
 * meets its answer and no reset (RFC 9112 section 9.6), and the connection continues.
 */
export class UnreadRests {
  /** Paused, in the order in which they are read on. */
  readonly #paused = new Set<IncomingMessage>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly pieces = PIECES,
    private readonly everyMs = EVERY_MS,
  ) {}

  /** Before the answer is written: Node drops by itself only what nobody reads by then. */
  add(request: IncomingMessage): void {
    request.on('data', () => {
      request.pause();
      this.#paused.add(request);
      this.#timer ??= setInterval(() => this.readOn(), this.everyMs).unref();
      // That read may have been the last: a server that closes would take the connection for busy until its turn.
      setImmediate(() => request.complete && this.#resume(request));
    });
    request.on('close', () => this.#paused.delete(request)).on('error', () => undefined);
    request.resume();
  }

  /** Reads the next pieces. */
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
