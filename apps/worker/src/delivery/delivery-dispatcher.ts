import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { deliveryId } from '@relay/delivery';
import type { DeliveryJob } from '@relay/jobs';
import { RedisWebhookView, type Webhook } from '@relay/webhooks';
import { type Delivery, jobOf, StraightAttempts, UnopenedWebhooks } from './attempts.js';
import type { StoreAgain } from '../log/pending-writes.js';
import { Breakers } from './breakers.js';
import { AttemptSlots } from './attempt-slots.js';
import { TrialQueue, UnprovenOrigins } from './unproven-origins.js';

/** Decides whether a delivery from the log may be attempted now. */
@Injectable()
export class AttemptRule {
  constructor(
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'find'>,
    @Inject(Breakers) private readonly breakers: Pick<Breakers, 'lookAgainAt'>,
    @Inject(UnopenedWebhooks) private readonly unopened: Pick<UnopenedWebhooks, 'notBefore'>,
  ) {}

  /**
   * Returns undefined if the delivery may be attempted; otherwise the epoch milliseconds at which its job is due. If the
   * registration was changed or deleted after the webhook was matched, the job is due at once and reads the registration
   * again. Therefore the former address gets neither body nor credential.
   */
  notBefore(webhook: Webhook): number | undefined {
    const now = Date.now();
    const isCurrent = this.webhooks.find(webhook.id)?.version === webhook.version;
    if (!isCurrent) return now;
    return this.unopened.notBefore(webhook, now) ?? this.breakers.lookAgainAt(webhook, now);
  }
}

export const DISPATCH_BOUNDS = Symbol('bounds of the dispatcher');

export interface DispatchBounds {
  /** Maximum of deliveries that are being attempted, wait in memory, or are being stored. */
  readonly load: number;
  /**
   * Maximum of deliveries that wait in memory, over all endpoints. One healthy endpoint handles that many within the maximum
   * wait. The number is small, so that the reading of the log slows down under load, instead of turning deliveries into
   * jobs. A job costs several times as much as a direct attempt.
   */
  readonly waiting: number;
}

/**
 * Makes the first attempts of deliveries, directly from the log and within the limits of each endpoint. A delivery that
 * fails or waits too long for its endpoint becomes a job, and is settled only after the job was stored. No method throws.
 * While Redis is unavailable, deliveries stay in flight, and therefore the reading of the log pauses.
 */
@Injectable()
export class DeliveryDispatcher {
  readonly #trials: TrialQueue;
  readonly #waitingForRoom: (() => void)[] = [];
  #load = 0;
  #cameAt = -Infinity;

  constructor(
    @Inject(AttemptRule) private readonly rule: Pick<AttemptRule, 'notBefore'>,
    private readonly slots: AttemptSlots,
    private readonly origins: UnprovenOrigins,
    private readonly attempts: StraightAttempts,
    @Inject(DISPATCH_BOUNDS) private readonly bounds: DispatchBounds,
  ) {
    this.#trials = new TrialQueue(origins, slots.maxWaitMs);
    origins.onProof((origin) => this.#trials.release(origin));
  }

  /** Number of deliveries that are being attempted, wait in memory, or are being stored. */
  get load(): number {
    return this.#load;
  }

  /** Milliseconds since the last live delivery was dispatched. Deliveries of catch-ups are ignored. */
  get idleMs(): number {
    return performance.now() - this.#cameAt;
  }

  get #hasRoom(): boolean {
    return this.#load < this.bounds.load && this.slots.waiting + this.#trials.waiting < this.bounds.waiting;
  }

  /** Returns undefined if there is room for another delivery; otherwise a promise that resolves when there may be room. */
  room(): Promise<void> | undefined {
    if (this.#hasRoom) return undefined;
    return new Promise((resolve) => this.#waitingForRoom.push(resolve));
  }

  dispatch(delivery: Delivery): void {
    this.#load += 1;
    if (delivery.isCaughtUp !== true) this.#cameAt = performance.now();
    void this.#run(delivery);
  }

  /** Resolves when no delivery is in flight. */
  async close(): Promise<void> {
    while (this.#load > 0) await delay(20);
  }

  async #run(delivery: Delivery): Promise<void> {
    const again = await this.#deliver(delivery).catch((error: unknown) => this.attempts.fail(delivery, error));
    this.#load -= 1;
    delivery.settle(again);
    if (!this.#hasRoom) return;
    // Each ended delivery wakes one waiting caller. The last delivery wakes all callers, because no other one follows it.
    for (const wake of this.#waitingForRoom.splice(0, this.#load === 0 ? Infinity : 1)) wake();
  }

  /** Attempts the delivery or stores it as a job. Returns the same as `StraightAttempts.make`. */
  async #deliver(delivery: Delivery): Promise<StoreAgain | undefined> {
    const { webhook } = delivery;
    const notBefore = this.rule.notBefore(webhook);
    if (notBefore !== undefined) return this.attempts.store(jobOf(delivery), notBefore);
    if (!this.origins.isProven(webhook.endpoint)) return this.#try(delivery);
    return this.#deliverInTurn(delivery);
  }

  /** Attempts the delivery once its endpoint has a free slot. */
  async #deliverInTurn(delivery: Delivery): Promise<StoreAgain | undefined> {
    const { webhook } = delivery;
    const behind = this.slots.behind(webhook);
    if (behind !== undefined) return this.attempts.store(jobOf(delivery), behind);
    const slot = this.slots.offer(webhook);
    if (slot === undefined) return this.attempts.make(delivery);
    const expired = await slot;
    if (expired !== undefined) return this.attempts.store(jobOf(delivery), expired);
    // During the wait, a breaker may have opened or the endpoint may have asked for a pause (`Retry-After`).
    const notBefore = this.rule.notBefore(webhook);
    if (notBefore === undefined) return this.attempts.make(delivery);
    this.slots.giveBack(webhook, 0, 'unused');
    return this.attempts.store(jobOf(delivery), notBefore);
  }

  /**
   * Attempts a delivery to an origin without a known 2xx answer. Other deliveries to the same endpoint wait for the result.
   */
  async #try(delivery: Delivery): Promise<StoreAgain | undefined> {
    const { webhook } = delivery;
    const behind = this.origins.behind(webhook, this.slots.maxWaitMs);
    if (behind !== undefined) return this.#storeUnproven(delivery, jobOf(delivery), behind);
    const turn = await this.#trials.turn(webhook);
    if (turn === 'proven') return this.#deliverInTurn(delivery);
    if (!turn.mayGo) {
      const hasTurn = turn.hasTurn ? { hasTurn: true as const } : {};
      return this.#storeUnproven(delivery, { ...jobOf(delivery), ...hasTurn }, turn.at);
    }
    const notBefore = this.rule.notBefore(webhook);
    if (notBefore !== undefined) return this.attempts.store(jobOf(delivery), notBefore);
    const slot = this.slots.take(webhook);
    return slot.taken ? this.attempts.make(delivery) : this.attempts.store(jobOf(delivery), slot.at);
  }

  /** Stores the delivery as a job that is due at `at`, or as soon as its origin answers 2xx for the first time. */
  async #storeUnproven({ webhook }: Delivery, job: DeliveryJob, at: number): Promise<StoreAgain> {
    const again = await this.attempts.store(job, at);
    void this.origins.hold(webhook.endpoint, deliveryId(job), at);
    return again;
  }
}
