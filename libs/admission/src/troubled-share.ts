/** The slots that all troubled webhooks share, and the webhooks that wait for nothing else. */
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

  /** Slots taken beyond the share, at most `spare`, by attempts that began before their webhooks were known to be slow. */
  get beyond(): number {
    return Math.min(this.spare, Math.max(0, this.running - this.limit));
  }

  wait(webhook: E): void {
    this.#waiting.add(webhook);
  }

  /** Removes as many webhooks as the share has room for, in order of arrival; one without a waiting delivery takes no room. */
  *admit(isWaiting: (webhook: E) => boolean): Generator<E> {
    let room = this.limit - this.running;
    for (const webhook of this.#waiting) {
      if (room <= 0) return;
      this.#waiting.delete(webhook);
      if (!isWaiting(webhook)) continue;
      room -= 1;
      yield webhook;
    }
  }
}
