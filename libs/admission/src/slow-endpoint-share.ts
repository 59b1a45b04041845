/** The slots that all slow and failing endpoints share, and those of them that wait for nothing else. */
export class TroubledShare<E> {
  running = 0;
  readonly #waiting = new Set<E>();

  constructor(
    private readonly limit: number,
    private readonly spare: number,
  ) {}

  get isFull(): boolean {
    return this.running >= this.limit;
  }

  /** Slots held beyond the share, by attempts that began before their endpoints were known to be slow; `spare` at most. */
  get beyond(): number {
    return Math.min(this.spare, Math.max(0, this.running - this.limit));
  }

  wait(endpoint: E): void {
    this.#waiting.add(endpoint);
  }

  /** Takes out as many as there is room for now, in the order in which they came; those for which nothing waits any more take none. */
  *admit(isWaiting: (endpoint: E) => boolean): Generator<E> {
    let room = this.limit - this.running;
    for (const endpoint of this.#waiting) {
      if (room <= 0) return;
      this.#waiting.delete(endpoint);
      if (!isWaiting(endpoint)) continue;
      room -= 1;
      yield endpoint;
    }
  }
}
