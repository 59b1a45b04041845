/** Interval of the beats in ms. A beat that comes later reveals a stall of the process. */
const BEAT_MS = 50;

/**
 * A clock that stands still while this process does. A timer calls `beat`, and the time by which a beat is late is time in which
 * the process did not run. Attempts are judged by this clock. Otherwise every answer seems slow in a worker starved of processor
 * time, and lower limits turn a busy worker into a stuck one.
 */
export class StallAwareClock {
  static readonly beatMs = BEAT_MS;
  #stalledMs = 0;
  #lastBeat: number | undefined;

  beat(now: number): void {
    this.#stalledMs += this.#lateness(now);
    this.#lastBeat = now;
  }

  /** Makes beats due from now on. */
  start(now: number): void {
    this.#lastBeat ??= now;
  }

  /** Makes no beat due until `start`. */
  stop(): void {
    this.#lastBeat = undefined;
  }

  /** The wall clock less all stalls, a current one included. */
  at(now: number): number {
    return now - this.#stalledMs - this.#lateness(now);
  }

  #lateness(now: number): number {
    return this.#lastBeat === undefined ? 0 : Math.max(0, now - this.#lastBeat - BEAT_MS);
  }
}
