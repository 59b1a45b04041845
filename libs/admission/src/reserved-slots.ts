/** A queued job that found no slot comes back within so long, or its slot is nobody's. */
const OWED_MS = 1_000;

/** Slots that are kept for queued jobs which found every one taken: what waits in memory would have each of them first. */
export class OwedSlots {
  #count = 0;
  #until = 0;

  constructor(private readonly limit: number) {}

  refused(now: number): void {
    this.#count = Math.min(this.limit, this.of(now) + 1);
    this.#until = now + OWED_MS;
  }

  /** A queued job got one. */
  taken(): void {
    this.#count = Math.max(0, this.#count - 1);
  }

  of(now: number): number {
    return now < this.#until ? this.#count : 0;
  }
}
