/** Limit of a webhook or endpoint without history. */
export const INITIAL_LIMIT = 8;
/** Duration in ms above which an attempt makes its webhook troubled. */
export const SLOW_MS = 1_000;
/** Quick successes in a row that end the trouble of a webhook. */
const RECOVERED_AFTER = 8;

/**
 * Limit of the attempts of one webhook, or to one endpoint, that run at once. It starts at 8 and grows by one with each quick
 * success, so it doubles with every round of attempts, up to its maximum. Failures in a row take away one, two, four and so on,
 * down to 1. Six of them bring a limit of 64 there, while a webhook that fails less than one attempt in three still grows. Slow
 * successes lower the limit of a webhook to 8 and no further: a slow webhook works, it only must not hold many slots.
 *
 * A webhook is troubled after a failure or a slow attempt until 8 quick successes in a row. All troubled webhooks together have a
 * share of the worker's slots (`TroubledShare`).
 */
export class AdaptiveLimit {
  readonly #maximum: number;
  readonly #initial: number;
  #value: number;
  #quickSuccesses = RECOVERED_AFTER;
  #step = 1;

  constructor(maximum: number, initial: number) {
    this.#maximum = maximum;
    this.#initial = Math.min(initial, maximum);
    this.#value = this.#initial;
  }

  get value(): number {
    return this.#value;
  }

  get isTroubled(): boolean {
    return this.#quickSuccesses < RECOVERED_AFTER;
  }

  failed(): void {
    this.#quickSuccesses = 0;
    this.#value = Math.max(1, this.#value - this.#step);
    this.#step = Math.min(this.#step * 2, this.#maximum);
  }

  /** Lowers the limit for a running attempt that has exceeded `SLOW_MS`. */
  slow(): void {
    this.#quickSuccesses = 0;
    this.#value = Math.min(this.#value, this.#initial);
  }

  succeeded(): void {
    this.#step = 1;
    this.#quickSuccesses = Math.min(this.#quickSuccesses + 1, RECOVERED_AFTER);
    this.#value = Math.min(this.#value + 1, this.#maximum);
  }

  succeededSlowly(): void {
    this.#step = 1;
    this.slow();
    this.#value = Math.min(this.#value + 1, this.#initial);
  }
}
