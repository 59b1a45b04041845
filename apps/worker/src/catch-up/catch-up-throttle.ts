import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

/** So much of the event loop's time may be used while what waited is caught up: what comes finds it idle often enough. */
const SHARE = 0.3;
/** The same while nothing comes. */
const SHARE_ALONE = 0.8;
/** Deliveries handed out in one go. Few: what comes waits for all of them. */
const BURST = 4;
/** The same while nothing comes: a rest of the shortest kind is a millisecond or two, which bounds what a burst each carries. */
const BURST_ALONE = 32;
/** A rest is no longer, however busy the worker is: what waited gets on at some 100 deliveries a second all the same. */
const LONGEST_MS = 40;
/** Between the beginnings of two passes: each connects and joins a group first. */
const GAP_MS = 100;

/** The event loop's time, in milliseconds, since an earlier reading; since the process began without one. */
export type LoopTime = (since?: EventLoopUtilization) => EventLoopUtilization;

/**
 * Holds up what is caught up or replayed by how busy the worker is, so that live deliveries do not wait behind it. One for
 * all passes of a worker: they share its event loop.
 */
export class CatchUpThrottle {
  #since: EventLoopUtilization;
  #left = BURST;
  #begun: Promise<void> = Promise.resolve();
  #resting: Promise<void> | undefined;

  constructor(
    /** Whether deliveries of what comes are being made as well. */
    private readonly isShared: () => boolean,
    private readonly loopTime: LoopTime = (since) => performance.eventLoopUtilization(since),
    private readonly rest: (ms: number) => Promise<void> = (ms) => delay(ms),
  ) {
    this.#since = loopTime();
  }

  /** Resolves when a delivery may be handed out, or a few records be looked at; counts as one of the burst. */
  async turn(): Promise<void> {
    while (this.#left === 0) await (this.#resting ??= this.#rest().finally(() => (this.#resting = undefined)));
    this.#left -= 1;
  }

  /** Runs a pass. They begin one after the other: each once the one before has said that it has begun, or has ended. */
  async pass(run: (begun: () => void) => Promise<void>): Promise<void> {
    const before = this.#begun;
    let begun = (): void => undefined;
    this.#begun = new Promise((resolve) => (begun = resolve));
    try {
      await before;
      await this.rest(GAP_MS);
      await run(begun);
    } finally {
      begun();
    }
  }

  async #rest(): Promise<void> {
    const isShared = this.isShared();
    const share = isShared ? SHARE : SHARE_ALONE;
    for (let rested = 0; rested < LONGEST_MS;) {
      const { active, idle } = this.loopTime(this.#since);
      const missing = Math.min(Math.ceil(active / share - active - idle), LONGEST_MS - rested);
      if (missing <= 0) break;
      await this.rest(missing);
      rested += missing;
    }
    this.#since = this.loopTime();
    this.#left = isShared ? BURST : BURST_ALONE;
  }
}
