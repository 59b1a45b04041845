/** How late a beat may be before that counts as a stall of our own. */
const BEAT_MS = 50;

/**
 * A clock that stands still while this process does: it is told the time at every beat of a timer, and what comes late
 * is time in which we did not run. Attempts are judged by it, since in a worker starved of processor time every answer
 * seems slow: shrinking all shares for that would turn a busy worker into a stuck one.
 */
export class Pace {
  static readonly beatMs = BEAT_MS;
  #stalledMs = 0;
  #lastBeat: number | undefined;

  beat(now: number): void {
    this.#stalledMs += this.#lateness(now);
    this.#lastBeat = now;
  }

  /** Work begins: beats come from now on. */
  wake(now: number): void {
    this.#lastBeat ??= now;
  }

  /** No beat comes any more, and what follows is no stall. */
  rest(): void {
    this.#lastBeat = undefined;
  }

  /** Our own time: `now` less all stalls, the one that may be going on included. */
  at(now: number): number {
    return now - this.#stalledMs - this.#lateness(now);
  }

  #lateness(now: number): number {
    return this.#lastBeat === undefined ? 0 : Math.max(0, now - this.#lastBeat - BEAT_MS);
  }
}
