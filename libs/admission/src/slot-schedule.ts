import { Heap } from './heap.js';

/** Latency of what has not ended anything yet. Where it is more, jobs come back too early and look once more; where less, they waited in vain. */
const FIRST_GUESS_MS = 200;
/** Weight of the newest latency in the running average. */
const WEIGHT = 1 / 16;
/** No job is put off further than this for want of a slot, or a long backlog would outlive what caused it: nothing brings a job forward when its endpoint turns out to be faster. */
const AHEAD_MS = 60_000;
/** Or than so many latencies, where that is more: thousands that wait for an endpoint that never answers would look in vain again and again. */
const AHEAD_LATENCIES = 16;
/** Its multiples, taken modulo 1, are spread evenly however many there are. */
const GOLDEN = 0.618_033_988_749_895;

/**
 * The line of something with a number of slots that are all taken: it says when the next job may expect one. A slot comes
 * free every latency / slots, so that is how far apart the jobs in line come back: no faster than they can be served, and
 * none looks in between. Where slots turn out to come free sooner than they were taken for, the next job does not wait
 * behind times that were reserved too late: nobody is told to wait longer than all who are in line now would take. Where
 * the line is longer than a minute, or 16 latencies, the rest of it is spread over the second half of that: each looks at
 * most once in half a minute, once in two minutes where an attempt takes 15 s.
 */
export class Backlog {
  #latencyMs: number | undefined;
  #changedAt = 0;
  #reservedUntil = 0;
  /** The times of those in line. */
  readonly #line = new Heap<true>();
  #beyond = 0;

  /** A slot was taken. */
  take(now: number): void {
    this.#changedAt = now;
  }

  /** A slot was given back after this time. */
  giveBack(durationMs: number, now: number): void {
    this.#latencyMs = this.#latencyMs === undefined ? durationMs : this.#latencyMs * (1 - WEIGHT) + durationMs * WEIGHT;
    this.#changedAt = now;
  }

  /** The time, after now, at which a job may expect a slot; each call reserves the next one. */
  reserve(slots: number, now: number): number {
    // All slots are taken and none changed since: whatever the average says, everything running takes at least this
    // long. Without it a fast endpoint that begins to hang would have its jobs back every few milliseconds.
    const stillMs = now - this.#changedAt;
    const latencyMs = this.#latencyMs ?? FIRST_GUESS_MS;
    const spacingMs = Math.max(latencyMs, stillMs) / slots;
    const aheadMs = Math.max(AHEAD_MS, AHEAD_LATENCIES * latencyMs);
    while (this.#line.popUntil(now) !== undefined);
    const next = Math.max(now, Math.min(this.#reservedUntil, now + this.#line.size * spacingMs)) + spacingMs;
    if (next > now + aheadMs) {
      this.#beyond += 1;
      return Math.ceil(now + (aheadMs / 2) * (1 + ((this.#beyond * GOLDEN) % 1)));
    }
    this.#reservedUntil = next;
    this.#line.push(next, true);
    return Math.ceil(next);
  }

  /** Until when slots are reserved; in the past when none are. */
  get reservedUntil(): number {
    return this.#reservedUntil;
  }
}
