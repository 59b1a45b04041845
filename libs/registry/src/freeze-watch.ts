/** The snapshot under way, while which nothing changes, and the number of its next record. */
export interface Freeze {
  readonly snapshot: string;
  readonly next: number;
}

/** A snapshot that has come no further for so long is given up: whoever makes it has died, or hangs. */
const STUCK_MS = 10_000;

/** Watches the snapshot under way, as this process meets it. */
export class FreezeWatch {
  #seen: Freeze | undefined;
  #since = 0;

  /** @param now of a clock that only goes forward */
  look(freeze: Freeze | undefined, now: number): 'none' | 'moving' | 'stuck' {
    if (freeze?.snapshot !== this.#seen?.snapshot || freeze?.next !== this.#seen?.next) {
      this.#seen = freeze;
      this.#since = now;
    }
    if (freeze === undefined) return 'none';
    return now - this.#since >= STUCK_MS ? 'stuck' : 'moving';
  }
}
