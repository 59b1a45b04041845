import { Heap } from './heap.js';

/**
 * Latency in ms that is assumed before the first attempt ends. If it is too low, jobs come back too early; if it is too
 * high, too late.
 */
const INITIAL_LATENCY_MS = 200;
/** Weight of the newest latency in the moving average. */
const WEIGHT = 1 / 16;
/**
 * Maximum delay in ms of a job that waits for a slot. A delayed job is not moved forward if its endpoint becomes faster, so
 * longer delays could last longer than the congestion.
 */
const AHEAD_MS = 60_000;
/**
 * Maximum delay as a multiple of the latency, used if it is longer than AHEAD_MS. Otherwise thousands of jobs of an endpoint
 * that never answers try again and again in vain.
 */
const AHEAD_LATENCIES = 16;
/** Minimum time in ms between two tries of a job that keeps its position. */
const SOON_MS = 100;
/** Multiples of the golden ratio, modulo 1, are spread evenly, no matter how many there are. */
const GOLDEN = 0.618_033_988_749_895;

/**
 * Decides when jobs that found no slot come back.
 *
 * On average, a slot becomes free every latency / slots milliseconds. Jobs are scheduled at this interval, so each should
 * find a free slot at its first try. If slots become free sooner than expected, earlier reservations do not delay a new job:
 * it waits no longer than all waiting jobs need at the current rate.
 *
 * If a job has to wait for more than the maximum delay (a minute or 16 latencies), it comes back at a time in the second
 * half of that delay, and such times are spread evenly. Therefore it tries at most once in half a minute, or once in two
 * minutes if an attempt takes 15 s.
 */
export class SlotSchedule {
  #latencyMs: number | undefined;
  #changedAt = 0;
  #reservedUntil = 0;
  /** The keys are the reserved times. */
  readonly #reservations = new Heap<true>();
  #beyond = 0;

  /** Records that a slot was taken. */
  take(now: number): void {
    this.#changedAt = now;
  }

  /** Records that a slot was given back after this duration. */
  giveBack(durationMs: number, now: number): void {
    this.#latencyMs = this.#latencyMs === undefined ? durationMs : this.#latencyMs * (1 - WEIGHT) + durationMs * WEIGHT;
    this.#changedAt = now;
  }

  /** Reserves the next slot. @returns the time of the slot, which is later than `now` */
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

  /**
   * Returns when the next slot should be free, for a job that came back at its time, found no slot and is first in the
   * order.
   */
  soon(slots: number, now: number): number {
    return Math.ceil(now + Math.max(SOON_MS, this.#spacingMs(slots, now)));
  }

  get #averageMs(): number {
    return this.#latencyMs ?? INITIAL_LATENCY_MS;
  }

  #spacingMs(slots: number, now: number): number {
    // Every running attempt takes at least the time since the last change, so the average may be too low. Otherwise the jobs
    // of a fast endpoint that begins to hang come back every few milliseconds.
    return Math.max(this.#averageMs, now - this.#changedAt) / slots;
  }

  /** The latest reserved time. It is in the past if no slot is reserved. */
  get reservedUntil(): number {
    return this.#reservedUntil;
  }
}

/** Time in ms within which a refused job has to come back. After that time its reservation ends. */
const RESERVED_MS = 1_000;

/**
 * Slots that are reserved for queued jobs that found all slots taken. Without reservations, every free slot goes to a
 * delivery that waits in memory.
 */
export class ReservedSlots {
  #count = 0;
  #until = 0;

  constructor(private readonly maximum: number) {}

  /** Reserves a slot for a queued job that found no free slot. */
  refused(now: number): void {
    this.#count = Math.min(this.maximum, this.countAt(now) + 1);
    this.#until = now + RESERVED_MS;
  }

  /** Ends one reservation, because a queued job got a slot. */
  taken(): void {
    this.#count = Math.max(0, this.#count - 1);
  }

  countAt(now: number): number {
    return now < this.#until ? this.#count : 0;
  }
}
