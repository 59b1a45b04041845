import { Heap } from './heap.js';

/** Latency in ms assumed before the first attempt ends. A guess too low brings jobs back too early, a guess too high too late. */
const INITIAL_LATENCY_MS = 200;
/** Weight of the newest latency in the moving average. */
const WEIGHT = 1 / 16;
/**
 * Longest delay in ms for want of a slot. A job is never brought forward when its endpoint turns out to be faster, so a longer
 * delay outlives its cause.
 */
const AHEAD_MS = 60_000;
/**
 * Longest delay in latencies, if that is more. Otherwise thousands of jobs of an endpoint that never answers look in vain again
 * and again.
 */
const AHEAD_LATENCIES = 16;
/** Shortest time in ms between two looks of a job that keeps its place. */
const SOON_MS = 100;
/** Multiples of the golden ratio, modulo 1, are spread evenly for any count. */
const GOLDEN = 0.618_033_988_749_895;

/**
 * Decides when jobs without a slot come back. A slot comes free every latency / slots, so returning jobs are spaced by that
 * interval: no faster than slots can serve them, and without a look in between. If slots come free sooner than expected, earlier
 * reservations do not delay a new job: no job waits longer than all waiting jobs need at the current rate. If a wait exceeds a
 * minute, or 16 latencies, the job comes back at a time spread over the second half of that time: it looks at most once in half a
 * minute, or once in two minutes if an attempt takes 15 s.
 */
export class SlotSchedule {
  #latencyMs: number | undefined;
  #changedAt = 0;
  #reservedUntil = 0;
  /** Keys are the reserved times. */
  readonly #reservations = new Heap<true>();
  #beyond = 0;

  /** Notes that a slot was taken. */
  take(now: number): void {
    this.#changedAt = now;
  }

  /** Notes that a slot was given back after this duration. */
  giveBack(durationMs: number, now: number): void {
    this.#latencyMs = this.#latencyMs === undefined ? durationMs : this.#latencyMs * (1 - WEIGHT) + durationMs * WEIGHT;
    this.#changedAt = now;
  }

  /** Reserves the next slot. @returns its time, after now */
  reserve(slots: number, now: number): number {
    const spacingMs = this.#spacingMs(slots, now);
    const aheadMs = Math.max(AHEAD_MS, AHEAD_LATENCIES * this.#averageMs);
    while (this.#reservations.popUntil(now) !== undefined);
    const next = Math.max(now, Math.min(this.#reservedUntil, now + this.#reservations.size * spacingMs)) + spacingMs;
    if (next > now + aheadMs) {
      this.#beyond += 1;
      return Math.ceil(now + (aheadMs / 2) * (1 + ((this.#beyond * GOLDEN) % 1)));
    }
    this.#reservedUntil = next;
    this.#reservations.push(next, true);
    return Math.ceil(next);
  }

  /** Returns when one more slot should be free, for a job that came at its time, found none and has no job before it. */
  soon(slots: number, now: number): number {
    return Math.ceil(now + Math.max(SOON_MS, this.#spacingMs(slots, now)));
  }

  get #averageMs(): number {
    return this.#latencyMs ?? INITIAL_LATENCY_MS;
  }

  #spacingMs(slots: number, now: number): number {
    // Every running attempt takes at least the time since the last change, whatever the average says. Otherwise the jobs of a
    // fast endpoint that begins to hang come back every few milliseconds.
    return Math.max(this.#averageMs, now - this.#changedAt) / slots;
  }

  /** The last reserved time; in the past when no slot is reserved. */
  get reservedUntil(): number {
    return this.#reservedUntil;
  }
}

/** Time in ms within which a refused job comes back; otherwise its reservation lapses. */
const RESERVED_MS = 1_000;

/** Slots reserved for queued jobs that found all slots taken; otherwise waiting deliveries take each free slot first. */
export class ReservedSlots {
  #count = 0;
  #until = 0;

  constructor(private readonly maximum: number) {}

  /** Reserves a slot for a queued job that found none. */
  refused(now: number): void {
    this.#count = Math.min(this.maximum, this.countAt(now) + 1);
    this.#until = now + RESERVED_MS;
  }

  /** Ends the reservation of a queued job that got a slot. */
  taken(): void {
    this.#count = Math.max(0, this.#count - 1);
  }

  countAt(now: number): number {
    return now < this.#until ? this.#count : 0;
  }
}
