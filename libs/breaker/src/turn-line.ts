/** Interval between the begins of attempts to an origin that has never answered 2xx. */
export const TURN_MS = 1_000;
/**
 * Longest delay of a delivery for an origin that has never answered 2xx. The first 2xx brings all of them forward, so this only
 * bounds how often waiting deliveries look in vain: ten thousand of them about twenty times a second in all.
 */
const AHEAD_MS = 600_000;
/** Multiples of the golden ratio, modulo 1, are spread evenly for any count. */
const GOLDEN = 0.618_033_988_749_895;

/**
 * The deliveries of one endpoint (a partner's origin) in one worker that wait for turns at an origin that has never answered
 * 2xx. Each gets a time to come back, computed from the number of deliveries before it, so that one comes back at each turn of
 * the endpoint and none looks in between.
 */
export class TurnLine {
  /** The endpoint's reserved turn, and whether a delivery comes back for it. */
  #turnAt = 0;
  #isAssigned = true;
  #spacingMs = TURN_MS;
  #reservedUntil = 0;
  #beyond = 0;
  /** Times of the waiting deliveries from `#first` on, ascending, without the one that comes back for the reserved turn. */
  #times: number[] = [];
  #first = 0;

  /** The endpoint was refused and has a reserved turn. @param rivals number of endpoints with a reserved turn */
  promised(turnAt: number, rivals: number): void {
    this.#spacingMs = TURN_MS * Math.max(1, rivals);
    if (turnAt === this.#turnAt) return;
    this.#turnAt = turnAt;
    this.#isAssigned = false;
  }

  /** The time, after now, at which the next delivery comes back. */
  reserve(now: number): number {
    this.#forget(now);
    if (!this.#isAssigned && this.#turnAt > now) {
      this.#isAssigned = true;
      this.#reservedUntil = Math.max(this.#reservedUntil, this.#turnAt);
      return this.#turnAt;
    }
    const inLine = this.#times.length - this.#first + (this.#turnAt > now ? 1 : 0);
    const until = Math.min(this.#reservedUntil, now + inLine * this.#spacingMs);
    const next = Math.ceil(Math.max(now, until) + this.#spacingMs);
    if (next <= now + AHEAD_MS) {
      this.#times.push(next);
      this.#reservedUntil = Math.max(this.#reservedUntil, next);
      return next;
    }
    this.#beyond += 1;
    return Math.ceil(now + (AHEAD_MS / 2) * (1 + ((this.#beyond * GOLDEN) % 1)));
  }

  /** Whether a delivery waits for longer. */
  isBehind(time: number): boolean {
    return this.#reservedUntil > time;
  }

  /** Whether no turn and no delivery is left. */
  isForgettable(now: number): boolean {
    return Math.max(this.#reservedUntil, this.#turnAt) < now;
  }

  #forget(now: number): void {
    while ((this.#times[this.#first] ?? Infinity) <= now) this.#first += 1;
    if (this.#first < 1_000 && this.#first < this.#times.length) return;
    this.#times = this.#times.slice(this.#first);
    this.#first = 0;
  }
}
