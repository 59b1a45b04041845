import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import { Inject, Injectable, Optional } from '@nestjs/common';
import { ConcurrencyLimiter, type ConcurrencyLimits, type Place, type SlotUse } from '@relay/admission';

export const SLOT_LIMITS = Symbol('limits of attempts at once');

/** A delivery that waits in memory for a slot. */
interface Waiting {
  /**
   * Ends the wait.
   * @param dueAt undefined if the delivery has a slot; otherwise epoch milliseconds at which its job is due
   */
  end: (dueAt?: number) => void;
}

/** Utilization of the event loop above which the worker counts as overloaded. */
const BUSY_SHARE = 0.9;
/**
 * Average delay of the heartbeats in ms above which the worker counts as overloaded, because other processes use the CPU.
 */
const BUSY_LATE_MS = 10;

/** Measures with a regular heartbeat whether this worker is overloaded. */
@Injectable()
export class LoopLoad {
  #since: EventLoopUtilization | undefined;
  #lastAt = 0;
  /** Moving averages over the last heartbeats: utilization of the event loop, and delay of the heartbeats in ms. */
  #use = 0;
  #lateMs = 0;

  constructor(
    @Optional() private readonly loopTime = (since?: EventLoopUtilization) => performance.eventLoopUtilization(since),
    @Optional() private readonly now = () => performance.now(),
  ) {}

  get isBusy(): boolean {
    return this.#use > BUSY_SHARE || this.#lateMs > BUSY_LATE_MS;
  }

  /** Starts the measurement that ends with the next heartbeat. */
  begin(): void {
    this.#since = this.loopTime();
    this.#lastAt = this.now();
  }

  /** Ends a measurement and starts the next one. @param everyMs interval of the heartbeats */
  beat(everyMs: number): void {
    this.#lateMs = (this.#lateMs + Math.max(0, this.now() - this.#lastAt - everyMs)) / 2;
    this.#use = (this.#use + this.loopTime(this.#since).utilization) / 2;
    this.begin();
  }
}

/**
 * Slots for attempts: a `ConcurrencyLimiter` with a clock and timers. First attempts from the log and attempts from the
 * queue share the slots. All times are epoch milliseconds.
 */
@Injectable()
export class AttemptSlots {
  readonly #limiter: ConcurrencyLimiter<Waiting>;
  /** Longest time in ms that a delivery waits in memory for a slot. Then it becomes a job. */
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

  /** Number of deliveries that wait in memory for a slot. */
  get waiting(): number {
    return this.#limiter.waiting;
  }

  /** Returns the webhooks with an attempt in the last minute. `isTroubled` is set for slow and failing webhooks. */
  known(): Iterable<readonly [place: Place, isTroubled: boolean]> {
    return this.#limiter.known();
  }

  /**
   * Returns undefined unless the queued deliveries of the webhook occupy its slots for longer than `maxWaitMs`. In that
   * case, reserves a later slot and returns when to try again.
   */
  behind(place: Place): number | undefined {
    return byWall(this.#limiter.slotBehindJobs(place, steady()));
  }

  /**
   * Requests a slot for a delivery from the log.
   * @returns undefined if there is a free slot; otherwise a promise that resolves with undefined once the delivery has a
   *   slot, or with the time at which its job is due if the wait takes too long
   */
  offer(place: Place): Promise<number | undefined> | undefined {
    this.#beat();
    const waiting: Waiting = { end: () => undefined };
    if (this.#limiter.offer(waiting, place, steady()) === 'run') return undefined;
    this.#watch();
    return new Promise((resolve) => (waiting.end = resolve));
  }

  /**
   * Takes a slot without waiting. If none is free, returns the time at which to try again.
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

  /** Starts a heartbeat that finds slow webhooks. It stops once no attempt is in flight and no delivery waits. */
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

/** Clock of the limiter. It is monotonic, because waits must not become longer when the clock of the host is set back. */
const steady = (): number => performance.timeOrigin + performance.now();

/** Converts a time of the limiter's clock to the clock of the host. */
function byWall(at: number): number;
function byWall(at: number | undefined): number | undefined;
function byWall(at: number | undefined): number | undefined {
  return at === undefined ? undefined : Math.ceil(at - steady() + Date.now());
}
