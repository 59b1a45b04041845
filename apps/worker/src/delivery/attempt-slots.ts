import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import { Inject, Injectable, Optional } from '@nestjs/common';
import { ConcurrencyLimiter, type ConcurrencyLimits, type Place, type SlotUse } from '@relay/admission';

export const SLOT_LIMITS = Symbol('limits of attempts at once');

/** A delivery that waits for a slot. */
interface Waiting {
  /** @param dueAt epoch milliseconds at which its job is due, if its wait has expired; undefined if it has the slot */
  end: (dueAt?: number) => void;
}

/** Share of the event loop's time in use above which the worker itself is late. */
const BUSY_SHARE = 0.9;
/** Lateness of the beats, in ms, above which the worker is late: other processes have the cores, and the loop seems idle. */
const BUSY_LATE_MS = 10;

/** Measures by regular beats whether this worker has no time left. */
@Injectable()
export class LoopLoad {
  #since: EventLoopUtilization | undefined;
  #lastAt = 0;
  /** Share of the event loop's time in use, and lateness of the beats in ms, both averaged over the last beats. */
  #use = 0;
  #lateMs = 0;

  constructor(
    @Optional() private readonly loopTime = (since?: EventLoopUtilization) => performance.eventLoopUtilization(since),
    @Optional() private readonly now = () => performance.now(),
  ) {}

  get isBusy(): boolean {
    return this.#use > BUSY_SHARE || this.#lateMs > BUSY_LATE_MS;
  }

  /** Starts the measurement up to the next beat. */
  begin(): void {
    this.#since = this.loopTime();
    this.#lastAt = this.now();
  }

  /** @param everyMs time between two beats */
  beat(everyMs: number): void {
    this.#lateMs = (this.#lateMs + Math.max(0, this.now() - this.#lastAt - everyMs)) / 2;
    this.#use = (this.#use + this.loopTime(this.#since).utilization) / 2;
    this.begin();
  }
}

/**
 * The slots for attempts, straight and queued together: a `ConcurrencyLimiter` with a clock and timers. Times are epoch
 * milliseconds.
 */
@Injectable()
export class AttemptSlots {
  readonly #limiter: ConcurrencyLimiter<Waiting>;
  /** Longest time in milliseconds that a delivery waits in memory for a slot. */
  readonly maxWaitMs: number;
  #expiry: NodeJS.Timeout | undefined;
  #beats: NodeJS.Timeout | undefined;

  constructor(
    @Inject(SLOT_LIMITS) limits: ConcurrencyLimits,
    @Inject(LoopLoad) private readonly load: Pick<LoopLoad, 'begin' | 'beat' | 'isBusy'>,
  ) {
    this.#limiter = new ConcurrencyLimiter(limits);
    this.maxWaitMs = limits.maxWaitMs;
  }

  /** Straight deliveries that wait for a slot. */
  get waiting(): number {
    return this.#limiter.waiting;
  }

  /** Webhooks with attempts within the last minute, and whether they are slow or failing. */
  known(): Iterable<readonly [place: Place, isTroubled: boolean]> {
    return this.#limiter.known();
  }

  /**
   * Returns when to try again if the webhook's queued deliveries take longer than a delivery may wait in memory; otherwise
   * undefined.
   */
  behind(place: Place): number | undefined {
    return byWall(this.#limiter.slotBehindJobs(place, steady()));
  }

  /**
   * Takes a slot for a straight delivery.
   * @returns undefined if it has the slot; otherwise a promise of that, or of the epoch milliseconds at which its job is due
   */
  offer(place: Place): Promise<number | undefined> | undefined {
    this.#beat();
    const waiting: Waiting = { end: () => undefined };
    if (this.#limiter.offer(waiting, place, steady()) === 'run') return undefined;
    this.#watch();
    return new Promise((resolve) => (waiting.end = resolve));
  }

  /**
   * Takes a slot at once; if none is free, returns the time to try again.
   * @param isOpen whether the breaker of the webhook or of its endpoint is open
   */
  take(place: Place, isOpen = false): { taken: true } | { taken: false; at: number } {
    this.#beat();
    const now = steady();
    return this.#limiter.tryTake(place, now, isOpen)
      ? { taken: true }
      : { taken: false, at: byWall(this.#limiter.nextSlotAt(place, now)) };
  }

  giveBack(place: Place, durationMs: number, use?: SlotUse): void {
    for (const next of this.#limiter.release(place, durationMs, steady(), use)) next.end();
    this.#watch();
  }

  /** Ticks the limiter while it has attempts or waiting deliveries, to notice slow webhooks and a late event loop. */
  #beat(): void {
    if (this.#beats !== undefined) return;
    this.load.begin();
    this.#beats = setInterval(() => {
      this.load.beat(ConcurrencyLimiter.beatMs);
      for (const next of this.#limiter.tick(steady())) next.end();
      if (this.#limiter.size > 0) return;
      clearInterval(this.#beats);
      this.#beats = undefined;
    }, ConcurrencyLimiter.beatMs).unref();
  }

  #watch(): void {
    const next = this.#limiter.nextExpiry;
    if (next === undefined || this.#expiry !== undefined) return;
    this.#expiry = setTimeout(
      () => {
        this.#expiry = undefined;
        const expired = this.#limiter.expire(steady(), this.load.isBusy);
        for (const { item, at } of expired) item.end(byWall(at));
        this.#watch();
      },
      Math.max(5, next - steady()),
    );
  }
}

/** The limiter's clock in epoch milliseconds. It is steady; otherwise deliveries wait as long as the host's clock is set back. */
const steady = (): number => performance.timeOrigin + performance.now();

/** Converts a time of the limiter's clock to the host's clock. */
function byWall(at: number): number;
function byWall(at: number | undefined): number | undefined;
function byWall(at: number | undefined): number | undefined {
  return at === undefined ? undefined : Math.ceil(at - steady() + Date.now());
}
