/** The snapshot under way, during which nothing changes, and the number of its next record. */
export interface Freeze {
  readonly snapshot: string;
  readonly next: number;
}

/** A snapshot without progress for this time is given up: its process has died or hangs. */
const STUCK_MS = 10_000;

/** Watches the progress of the snapshot under way, as this process sees it. */
export class FreezeWatch {
  #seen: Freeze | undefined;
  #since = 0;

  /** @param now time of a monotonic clock in milliseconds */
  look(freeze: Freeze | undefined, now: number): 'none' | 'moving' | 'stuck' {
    if (freeze?.snapshot !== this.#seen?.snapshot || freeze?.next !== this.#seen?.next) {
      this.#seen = freeze;
      this.#since = now;
    }
    if (freeze === undefined) return 'none';
    return now - this.#since >= STUCK_MS ? 'stuck' : 'moving';
  }
}
