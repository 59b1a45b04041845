/** Whoever does not come back for this long after its time has lost its place. */
const LATE_MS = 1_000;

/** Who found no slot and comes back for one, in the order in which each was first refused. */
export class RefusalOrder {
  /** When each comes back. */
  readonly #refused = new Map<string, number>();

  /** Was refused, and comes back at this time. Keeps its place if it has one. */
  refused(id: string, at: number): void {
    this.#refused.set(id, at);
  }

  /** When it comes back, or was to come back. */
  timeOf(id: string): number | undefined {
    return this.#refused.get(id);
  }

  /** Has a slot. */
  taken(id: string): void {
    this.#refused.delete(id);
  }

  /** Whether so many free slots are enough for this one and those before it. */
  isNext(id: string, room: number, now: number): boolean {
    let before = 0;
    for (const [each, at] of this.#refused) {
      if (each === id) break;
      if (at + LATE_MS < now) this.#refused.delete(each);
      else if ((before += 1) >= room) return false;
    }
    return before < room;
  }
}
