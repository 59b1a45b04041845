/** Whoever does not come back for this long after its time has lost its turn. */
const LATE_MS = 1_000;

/** Who found no slot and comes back for one, in the order in which each was first refused. */
export class Turns {
  /** Until when each turn is kept. */
  readonly #waiting = new Map<string, number>();

  /** Was refused, and comes back at this time. Keeps its turn if it has one. */
  wait(id: string, at: number): void {
    this.#waiting.set(id, at + LATE_MS);
  }

  /** Has a slot. */
  leave(id: string): void {
    this.#waiting.delete(id);
  }

  /** Whether so many free slots are enough for this one and those before it. */
  isNext(id: string, room: number, now: number): boolean {
    let before = 0;
    for (const [each, until] of this.#waiting) {
      if (each === id) break;
      if (until < now) this.#waiting.delete(each);
      else if ((before += 1) >= room) return false;
    }
    return before < room;
  }
}
