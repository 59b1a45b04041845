/** Attempts running at once to an endpoint that nothing is known of. */
export const FIRST_CAP = 8;
/** An attempt that takes longer makes its endpoint troubled. */
export const SLOW_MS = 1_000;
/** Quick successes in a row after which an endpoint is troubled no more. */
const RECOVERED_AFTER = 8;

/**
 * How many attempts to one endpoint may run at once. Starts at 8 and grows by one with each quick success, so it doubles
 * with every round of them, up to the limit. A failure takes one away, the next in a row two, then four, down to 1: six
 * in a row bring any endpoint there, while one that fails now and then (fewer than one in three) still grows. While
 * attempts succeed but take long it goes to 8 and no lower: such an endpoint works, it only must not hold many slots.
 *
 * Troubled is what failed or was slow and has not yet answered 8 times in a row quickly: all troubled endpoints share a
 * part of the worker's slots.
 */
export class AdaptiveCap {
  readonly #limit: number;
  readonly #first: number;
  #value: number;
  #quick = RECOVERED_AFTER;
  #step = 1;

  constructor(limit: number, first: number) {
    this.#limit = limit;
    this.#first = Math.min(first, limit);
    this.#value = this.#first;
  }

  get value(): number {
    return this.#value;
  }

  get isTroubled(): boolean {
    return this.#quick < RECOVERED_AFTER;
  }

  failed(): void {
    this.#quick = 0;
    this.#value = Math.max(1, this.#value - this.#step);
    this.#step = Math.min(this.#step * 2, this.#limit);
  }

  /** An attempt runs for longer than `SLOW_MS`, however it will end. */
  slow(): void {
    this.#quick = 0;
    this.#value = Math.min(this.#value, this.#first);
  }

  succeeded(): void {
    this.#step = 1;
    this.#quick = Math.min(this.#quick + 1, RECOVERED_AFTER);
    this.#value = Math.min(this.#value + 1, this.#limit);
  }

  succeededSlowly(): void {
    this.#step = 1;
    this.slow();
    this.#value = Math.min(this.#value + 1, this.#first);
  }
}
