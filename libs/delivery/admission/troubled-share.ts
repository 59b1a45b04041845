/**
 * The slots that all troubled webhooks share, and the webhooks that wait only for one of them, in turns of their partners. If
 * partners have parts, each leaves as much free as it may have: one partner has half of the share, two have a third each.
 * Therefore a newcomer finds a slot, even while another partner holds more than the share by attempts that began before its
 * webhooks were known to be slow.
 */
export class TroubledShare<E extends { readonly partner: string }> {
  running = 0;
  readonly #runningOf = new Map<string, number>();
  readonly #waiting = new Map<string, Set<E>>();

  constructor(
    private readonly limit: number,
    private readonly spare: number,
    private readonly hasParts: boolean,
  ) {}

  /** Slots taken beyond the share, at most `spare`, by attempts that began before their webhooks were known to be slow. */
  get beyond(): number {
    return Math.min(this.spare, Math.max(0, this.running - this.limit));
  }

  isFullFor(partner: string): boolean {
    return this.#roomOf(partner) <= 0;
  }

  /** Adds attempts of the partner's troubled webhooks, or subtracts them if `count` is negative. */
  count(partner: string, count: number): void {
    this.running += count;
    const running = (this.#runningOf.get(partner) ?? 0) + count;
    if (running > 0) this.#runningOf.set(partner, running);
    else this.#runningOf.delete(partner);
  }

  wait(webhook: E): void {
    const waiting = this.#waiting.get(webhook.partner);
    if (waiting === undefined) this.#waiting.set(webhook.partner, new Set([webhook]));
    else waiting.add(webhook);
  }

  /**
   * Removes as many webhooks as there is room for, one of each partner in turn; a webhook without a waiting delivery takes no
   * room.
   */
  *admit(isWaiting: (webhook: E) => boolean): Generator<E> {
    const admitted = new Map<string, number>();
    for (const [partner, waiting] of this.#waiting) {
      const key = this.hasParts ? partner : '';
      const before = admitted.get(key) ?? 0;
      if (before >= this.#roomOf(partner)) continue;
      this.#waiting.delete(partner);
      const [webhook] = waiting;
      if (webhook === undefined) continue;
      waiting.delete(webhook);
      if (waiting.size > 0) this.#waiting.set(partner, waiting); // last, and visited again
      if (!isWaiting(webhook)) continue;
      admitted.set(key, before + 1);
      yield webhook;
    }
  }

  #roomOf(partner: string): number {
    const room = this.limit - this.running;
    if (!this.hasParts) return room;
    const running = this.#runningOf.get(partner) ?? 0;
    const partners = this.#runningOf.size + (running > 0 ? 0 : 1);
    const part = Math.floor(this.limit / (partners + 1));
    // With as many partners as slots, each partner has one slot while any is free.
    return part > 0 ? part - running : Math.min(1 - running, room);
  }
}
