import { Inject, Injectable } from '@nestjs/common';
import { ConcurrencyLimiter, type ConcurrencyLimits, type Place, type SlotUse } from '@relay/admission';
import { LoopLoad } from './loop-load.js';
import type { StraightDelivery } from './straight-delivery.js';

export const SLOT_LIMITS = Symbol('limits of attempts at once');

/** Receives a delivery when its slot is free or its wait has expired. */
export interface SlotUser {
  run(delivery: StraightDelivery): void;
  /** @param at epoch milliseconds at which the endpoint's backlog allows an attempt */
  expired(delivery: StraightDelivery, at: number): void;
}

/**
 * The slots for attempts, straight and queued together: a `ConcurrencyLimiter` with a clock and timers. Times are epoch
 * milliseconds.
 */
@Injectable()
export class EndpointSlots {
  readonly #limiter: ConcurrencyLimiter<StraightDelivery>;
  /** Longest time in milliseconds that a delivery waits in memory for a slot. */
  readonly maxWaitMs: number;
  #user: SlotUser | undefined;
  #expiry: NodeJS.Timeout | undefined;
  #beats: NodeJS.Timeout | undefined;

  constructor(
    @Inject(SLOT_LIMITS) limits: ConcurrencyLimits,
    @Inject(LoopLoad) private readonly load: Pick<LoopLoad, 'begin' | 'beat' | 'isBusy'>,
  ) {
    this.#limiter = new ConcurrencyLimiter(limits);
    this.maxWaitMs = limits.maxWaitMs;
  }

  usedBy(user: SlotUser): void {
    this.#user = user;
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

  /** Takes a slot for a straight delivery, or makes the delivery wait for one. */
  offer(delivery: StraightDelivery): 'run' | 'wait' {
    this.#beat();
    if (this.#limiter.offer(delivery, delivery.webhook, steady()) === 'run') return 'run';
    this.#watch();
    return 'wait';
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
    for (const next of this.#limiter.release(place, durationMs, steady(), use)) this.#user?.run(next);
    this.#watch();
  }

  /** Ticks the limiter while it has attempts or waiting deliveries, to notice slow webhooks and a late event loop. */
  #beat(): void {
    if (this.#beats !== undefined) return;
    this.load.begin();
    this.#beats = setInterval(() => {
      this.load.beat(ConcurrencyLimiter.beatMs);
      for (const next of this.#limiter.tick(steady())) this.#user?.run(next);
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
        for (const { item, at } of expired) this.#user?.expired(item, byWall(at));
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
