import type { Socket } from 'node:net';

/**
 * The open connections of a process. A further one is not refused: whoever opens many and says nothing would keep everybody
 * else out. The oldest goes on which nobody has shown a credential; where everybody has, the new one.
 */
export class Connections {
  /** In the order in which they came. */
  readonly #strangers = new Set<Socket>();
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
    });
    if (this.#open <= this.most) return;
    const [oldest = socket] = this.#strangers;
    this.#strangers.delete(oldest); // closing takes a while, and the next one needs room too
    oldest.destroy();
    this.ended();
  }

  /** A request on it came with a credential that is one. */
  know(socket: Socket): void {
    this.#strangers.delete(socket);
  }
}
