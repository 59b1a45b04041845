import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { deliveryId } from '@relay/delivery';
import type { StoreAgain } from '../log/log-chunk.js';
import { AttemptRule } from './attempt-rule.js';
import { EndpointSlots, type SlotUser } from './endpoint-slots.js';
import { StraightAttempts } from './straight-attempts.js';
import { jobOf, type StraightDelivery } from './straight-delivery.js';
import { TrialQueue } from './trial-queue.js';
import { UnprovenOrigins } from './unproven-origins.js';

export const DISPATCH_BOUNDS = Symbol('bounds of the dispatcher');

export interface DispatchBounds {
  /** Maximum of straight deliveries that run, wait or are being stored. */
  readonly load: number;
  /**
   * Maximum of straight deliveries that wait for their endpoint: as many as a healthy endpoint takes within the bounded wait. It
   * is small, so that under load the reader slows down instead of filling the queue, which costs several times as much.
   */
  readonly waiting: number;
}

/**
 * Makes first attempts straight from the log, each endpoint within its share. A delivery that fails, or waits too long for its
 * endpoint, becomes a job and is settled only once the store has confirmed that job. No method throws or gives up: while Redis is
 * away, the delivery stays running and the reader pauses.
 */
@Injectable()
export class DeliveryDispatcher implements SlotUser {
  readonly #trials: TrialQueue<StraightDelivery>;
  readonly #waitingForRoom: (() => void)[] = [];
  #load = 0;
  #cameAt = -Infinity;

  constructor(
    @Inject(AttemptRule) private readonly rule: Pick<AttemptRule, 'notBefore'>,
    private readonly slots: EndpointSlots,
    private readonly origins: UnprovenOrigins,
    private readonly attempts: StraightAttempts,
    @Inject(DISPATCH_BOUNDS) private readonly bounds: DispatchBounds,
  ) {
    slots.usedBy(this);
    this.#trials = new TrialQueue(
      origins,
      {
        run: (delivery) => this.#try(delivery),
        offer: (delivery) => this.#offer(delivery),
        store: (delivery, at, hasTurn) => void this.#storeUnproven(delivery, at, hasTurn),
      },
      slots.maxWaitMs,
    );
    origins.onProof((origin) => this.#trials.release(origin));
  }

  /** Straight deliveries that run, wait or are being stored. */
  get load(): number {
    return this.#load;
  }

  /** Milliseconds since the last live delivery was dispatched; catch-ups do not count. */
  get idleMs(): number {
    return performance.now() - this.#cameAt;
  }

  get #hasRoom(): boolean {
    return this.#load < this.bounds.load && this.slots.waiting + this.#trials.waiting < this.bounds.waiting;
  }

  /** Returns undefined while there is room for another delivery, otherwise a promise that resolves when there may be room. */
  room(): Promise<void> | undefined {
    if (this.#hasRoom) return undefined;
    return new Promise((resolve) => this.#waitingForRoom.push(resolve));
  }

  dispatch(delivery: StraightDelivery): void {
    this.#load += 1;
    if (delivery.isCaughtUp !== true) this.#cameAt = performance.now();
    const { webhook } = delivery;
    const at = this.rule.notBefore(webhook);
    if (at !== undefined) void this.#store(delivery, at);
    else if (this.origins.isProven(webhook.endpoint)) this.#offer(delivery);
    else this.#lineUp(delivery);
  }

  /**
   * Attempts a delivery that waited for a slot. While it waited, the breaker may have opened or the endpoint may have asked for
   * rest.
   */
  run(delivery: StraightDelivery): void {
    const at = this.rule.notBefore(delivery.webhook);
    if (at === undefined) return void this.#attempt(delivery);
    this.slots.giveBack(delivery.webhook, 0, 'unused');
    void this.#store(delivery, at);
  }

  expired(delivery: StraightDelivery, at: number): void {
    void this.#store(delivery, at);
  }

  /** Resolves when no delivery runs any more. */
  async close(): Promise<void> {
    while (this.#load > 0) await delay(20);
  }

  #offer(delivery: StraightDelivery): void {
    const at = this.slots.behind(delivery.webhook);
    if (at !== undefined) void this.#store(delivery, at);
    else if (this.slots.offer(delivery) === 'run') void this.#attempt(delivery);
  }

  /** Tries one delivery to an origin that is not known to have answered 2xx, while its other deliveries wait. */
  #lineUp(delivery: StraightDelivery): void {
    const { webhook } = delivery;
    const at = this.origins.behind(webhook, this.slots.maxWaitMs);
    if (at === undefined) this.#trials.add(delivery, webhook);
    else void this.#storeUnproven(delivery, at, false);
  }

  #try(delivery: StraightDelivery): void {
    const { webhook } = delivery;
    const at = this.rule.notBefore(webhook);
    if (at !== undefined) return void this.#store(delivery, at);
    const slot = this.slots.take(webhook);
    void (slot.taken ? this.#attempt(delivery) : this.#store(delivery, slot.at));
  }

  async #attempt(delivery: StraightDelivery): Promise<void> {
    this.#end(delivery, await this.attempts.make(delivery));
  }

  async #store(delivery: StraightDelivery, at: number): Promise<void> {
    this.#end(delivery, await this.attempts.store(jobOf(delivery), at));
  }

  /** Stores the delivery as a job that becomes due at once when its origin answers 2xx. */
  async #storeUnproven(delivery: StraightDelivery, at: number, hasTurn: boolean): Promise<void> {
    const job = { ...jobOf(delivery), ...(hasTurn ? { hasTurn } : {}) };
    this.#end(delivery, await this.attempts.store(job, at));
    await this.origins.hold(delivery.webhook.endpoint, deliveryId(job), at);
  }

  #end({ settler, webhook }: StraightDelivery, again: StoreAgain | undefined): void {
    this.#load -= 1;
    settler.settled(webhook, again);
    if (!this.#hasRoom) return;
    // Each end wakes one reader. When nothing runs, no further end follows, so the last end wakes all readers.
    for (const wake of this.#waitingForRoom.splice(0, this.#load === 0 ? Infinity : 1)) wake();
  }
}
