/** An origin that has never answered 2xx gets an attempt no sooner after the beginning of the one before. */
export const TURN_MS = 1_000;
/**
 * No delivery is put off further for an origin that has never answered 2xx. Its first 2xx brings all of them forward, so this
 * only bounds how often those that wait look in vain: ten thousand of them some twenty times a second in all.
 */
const AHEAD_MS = 600_000;
/** Its multiples, taken modulo 1, are spread evenly however many there are. */
const GOLDEN = 0.618_033_988_749_895;

/**
 * The deliveries of one endpoint (a partner's origin) that wait for their turns at an origin which has never answered 2xx,
 * as one worker knows them. Each is told a time at which it comes back, computed from how many wait before it, so that
 * one comes at each turn of the endpoint and none looks in between.
 */
export class TurnLine {
  /** The turn that the endpoint was promised last, and whether one of the deliveries comes back for it. */
  #turnAt = 0;
  #isAssigned = true;
  #spacingMs = TURN_MS;
  #reservedUntil = 0;
  #beyond = 0;
  /** The times of those in line, ascending, but for what comes back for the promised turn; from `#first` on. */
  #times: number[] = [];
  #first = 0;

  /** The endpoint was refused, and promised a turn; so many endpoints have turns at this origin. */
  promised(turnAt: number, rivals: number): void {
    this.#spacingMs = TURN_MS * Math.max(1, rivals);
    if (turnAt === this.#turnAt) return;
    this.#turnAt = turnAt;
    this.#isAssigned = false;
  }

  /** The time, after now, at which the next delivery is to come back. */
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

  /** Whether some wait for longer than that. */
  isBehind(time: number): boolean {
    return this.#reservedUntil > time;
  }

  /** Whether nothing of it is worth remembering. */
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
