import type { Socket } from 'node:net';

/**
 * The open connections of a process. A further one is not refused: whoever opens many and says nothing would keep everybody
 * else out. The oldest goes on which nobody has shown a credential; where everybody has, the new one. A caller's credential
 * counts on half of them at most: with more, it would keep everybody else out as well.
 */
export class Connections {
  /** In the order in which they came. */
  readonly #strangers = new Set<Socket>();
  readonly #callers = new Map<Socket, string>();
  readonly #counts = new Map<string, number>();
  #open = 0;

  constructor(
    private readonly most: number,
    /** Told of each that had to go. */
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

  /** A request on it came with a credential that is this caller's. */
  know(socket: Socket, caller: string): void {
    if (this.#callers.has(socket) || socket.destroyed) return;
    const count = this.#counts.get(caller) ?? 0;
    if (count >= this.most / 2) return;
    this.#callers.set(socket, caller);
    this.#counts.set(caller, count + 1);
    this.#strangers.delete(socket);
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
