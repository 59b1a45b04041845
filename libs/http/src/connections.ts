import type { Socket } from 'node:net';

/** A caller may protect a third of what is free (dynamic thresholds, Choudhury and Hahne 1998). */
const FREE_FOR_EACH = 3;

/**
 * The open connections of a process. Beyond the limit a new connection is accepted and another one ends; otherwise a
 * caller with many idle connections would lock out everyone else. The oldest connection without a credential ends
 * first. The credential of a caller protects a quarter of the connections while no other caller has any, and for each
 * caller a third of those that are left, so that there is always room for another.
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

  /** Ends the connections that have brought nothing: while a server closes, Node takes them for busy until a request times out. */
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
