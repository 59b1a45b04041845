/** Time in ms after which a webhook that has not come back at its time loses its place. */
const LATE_MS = 1_000;

/** Webhooks that found no slot and come back for one, in the order in which each was first refused. */
export class RefusalOrder {
  /** Time at which each webhook comes back. */
  readonly #refused = new Map<string, number>();

  /** Adds a refused webhook, which comes back at this time. It keeps its place if it has one. */
  refused(id: string, at: number): void {
    this.#refused.set(id, at);
  }

  /** Returns when a webhook comes back, or should have come back. */
  timeOf(id: string): number | undefined {
    return this.#refused.get(id);
  }

  /** Removes a webhook that has a slot. */
  taken(id: string): void {
    this.#refused.delete(id);
  }

  /** Whether `room` free slots are enough for this webhook and those before it. */
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
