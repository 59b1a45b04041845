import { Inject, Injectable } from '@nestjs/common';
import { ConcurrencyLimiter, type ConcurrencyLimits, type Place, type SlotUse } from '@relay/admission';
import { LoopLoad } from './loop-load.js';
import type { StraightDelivery } from './straight-delivery.js';

export const SLOT_LIMITS = Symbol('limits of attempts at once');

/** Who holds straight deliveries: gets those for which a slot is free, and those that waited too long for one. */
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
   * When to try again if the webhook's queued deliveries take longer than a delivery may wait in memory; else
   * undefined.
   */
  behind(place: Place): number | undefined {
    return byWall(this.#limiter.slotBehindJobs(place, steady()));
  }

  /** Takes a slot for a straight delivery, or has it wait for one. */
  offer(delivery: StraightDelivery): 'run' | 'wait' {
    this.#beat();
    if (this.#limiter.offer(delivery, delivery.webhook, steady()) === 'run') return 'run';
    this.#watch();
    return 'wait';
  }

  /**
   * Takes a slot at once; when there is none, the time to try again.
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

  /** The gate has to be ticked while it has anything, to notice slow webhooks and a late event loop. */
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

/** The gate's clock in epoch milliseconds. The host's clock may be set back, and deliveries would wait for as long. */
const steady = (): number => performance.timeOrigin + performance.now();

/** A time of the gate's clock as the host's clock shows it. */
function byWall(at: number): number;
function byWall(at: number | undefined): number | undefined;
function byWall(at: number | undefined): number | undefined {
  return at === undefined ? undefined : Math.ceil(at - steady() + Date.now());
}
