/** The slots that all troubled endpoints share, and the endpoints that wait for nothing else. */
export class SlowEndpointShare<E> {
  running = 0;
  readonly #waiting = new Set<E>();

  constructor(
    private readonly limit: number,
    private readonly spare: number,
  ) {}

  get isFull(): boolean {
    return this.running >= this.limit;
  }

  /** Slots taken beyond the share, at most `spare`, by attempts that began before their endpoints were known to be slow. */
  get beyond(): number {
    return Math.min(this.spare, Math.max(0, this.running - this.limit));
  }

  wait(endpoint: E): void {
    this.#waiting.add(endpoint);
  }

  /** Removes as many endpoints as the share has room for, in order of arrival; one without a waiting delivery takes no room. */
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
