import type { ConcurrencyLimits, Place, SlotUse } from './concurrency-limits.js';
import { type EndpointSlots, KnownEndpoints } from './endpoint-slots.js';
import { FairQueue } from './fair-queue.js';
import { Heap } from './heap.js';
import { RunningAttempts, StallAwareClock } from './running-attempts.js';
import { ReservedSlots, SlotSchedule } from './slot-schedule.js';
import { INITIAL_LIMIT, type WebhookSlots } from './webhook-slots.js';

/**
 * Decides which attempts run now. `total` limits all attempts (with `spare` on top if many webhooks begin to hang at once), an
 * adaptive limit those of one webhook, a cap those to one endpoint (`EndpointSlots`), and a share those of all troubled webhooks
 * together. A webhook without a free slot is full. A delivery without a slot waits in memory, in order of arrival.
 * - `release` and `tick` give a free slot to the oldest delivery whose webhook is not full; partners above their share come last.
 *   The slots of an endpoint go round by webhook. A full webhook delays no other.
 * - `expire` removes a delivery whose webhook was full for all of `maxWaitMs`. A delivery that waits only for a slot of the total
 *   stays, and so does a delivery of a quick webhook while this worker is busy: that is backpressure, and the reader pauses.
 *
 * Callers ask breakers and parking before they offer a delivery. No call except `known` scans the endpoints. A call costs at most
 * the logarithm of the number of waiting deliveries, except that it visits the entries of a partner that falls below its share,
 * and the webhooks of one endpoint that have deliveries waiting in memory.
 */
export class ConcurrencyLimiter<T> {
  readonly #limits: Required<ConcurrencyLimits>;
  readonly #endpoints: KnownEndpoints<T>;
  readonly #attempts: RunningAttempts<T>;
  readonly #schedule = new SlotSchedule();
  readonly #reserved: ReservedSlots;
  /** Webhooks that are not full, with a waiting delivery. */
  readonly #ready: FairQueue<WebhookSlots<T>>;
  /** Full webhooks with a waiting delivery, by a time at or before their first expiry, which never moves back. */
  readonly #expiring = new Heap<WebhookSlots<T>>();
  #order = 0;
  #waiting = 0;

  constructor(limits: ConcurrencyLimits) {
    const { total } = limits;
    const none = { hasTroubledParts: false, spare: 0, reserved: 0 };
    this.#limits = { initial: INITIAL_LIMIT, troubled: total, perPartner: total, ...none, ...limits };
    this.#reserved = new ReservedSlots(this.#limits.reserved);
    this.#ready = new FairQueue(this.#limits.perPartner);
    this.#attempts = new RunningAttempts(this.#limits);
    this.#endpoints = new KnownEndpoints(this.#limits.perEndpoint, this.#limits.initial);
  }

  /** Offers a new delivery, which runs at once, or waits until `release`, `tick` or `expire` returns it. */
  offer(item: T, place: Place, now: number): 'run' | 'wait' {
    const webhook = this.#endpoints.of(place);
    this.#attempts.mark(webhook, false);
    if (!webhook.first && this.#mayTake(webhook, this.#reserved.countAt(now))) {
      this.#take(webhook, now);
      return 'run';
    }
    this.#waiting += 1;
    if (webhook.wait(item, now, (this.#order += 1))) this.#enqueue(webhook, now);
    return 'wait';
  }

  /**
   * Takes a slot for a queued job, which never waits here; without a slot `nextSlotAt` returns when the job is due again.
   * @param isOpen whether the breaker of the webhook or of its endpoint is open
   */
  tryTake(place: Place, now: number, isOpen = false): boolean {
    const webhook = this.#endpoints.of(place);
    this.#attempts.mark(webhook, isOpen);
    const isNext = webhook.endpoint.isNext(webhook, now);
    if (isNext && this.#mayTake(webhook, 0)) {
      this.#take(webhook, now);
      this.#reserved.taken();
      return true;
    }
    if (isNext && !this.#attempts.isFull(webhook)) {
      this.#ready.refused(webhook.partner, now);
      this.#reserved.refused(now);
    } else webhook.idleSince = now; // remembered with its reservations; otherwise all of its jobs come back together
    this.#endpoints.rest(webhook, now);
    return false;
  }

  /**
   * Ends an attempt.
   * @param durationMs duration of the attempt
   * @returns the deliveries that start now
   * @throws RangeError if no attempt of this webhook runs: a slot given back twice is a bug
   */
  release(place: Place, durationMs: number, now: number, use: SlotUse = 'succeeded'): T[] {
    const webhook = this.#endpoints.find(place);
    if (!webhook || webhook.running === 0)
      throw new RangeError(`a slot of ${place.endpoint} ${place.id} is given back but none was taken`);
    this.#attempts.end(webhook, durationMs, now, use);
    this.#ready.giveBack(webhook.partner);
    webhook.idleSince = now;
    if (use !== 'unused') {
      if (webhook.isOpen) webhook.endpoint.openSchedule.giveBack(durationMs, now);
      webhook.schedule.giveBack(durationMs, now);
      this.#schedule.giveBack(durationMs, now);
    }
    this.#enqueue(webhook, now);
    for (const admitted of this.#attempts.admitToShare()) this.#enqueue(admitted, now);
    const started = this.#fill(now);
    // Reset only now: if the slot went to the next delivery of the same webhook, the webhook stayed full without a break.
    if (!this.#attempts.isFull(webhook)) webhook.fullSince = undefined;
    this.#endpoints.rest(webhook, now);
    this.#endpoints.forget(now);
    return started;
  }

  /** Finds slow webhooks; called every `beatMs` while attempts run or deliveries wait. @returns the deliveries that start now */
  tick(now: number): T[] {
    this.#attempts.beat(now, this.size === 0);
    for (const webhook of this.#attempts.findSlow(now)) {
      this.#advance(webhook.endpoint, now);
      this.#endpoints.rest(webhook, now);
    }
    this.#endpoints.forget(now);
    return this.#fill(now);
  }

  static readonly beatMs = StallAwareClock.beatMs;

  /**
   * Removes the deliveries that waited too long for their webhooks.
   * @param isBusy whether this worker has no time left: then a quick webhook is full because the worker is late
   * @returns each with the time at which its job is due
   */
  expire(now: number, isBusy = false): { readonly item: T; readonly at: number }[] {
    const { maxWaitMs } = this.#limits;
    const expired: { item: T; at: number }[] = [];
    for (;;) {
      const webhook = this.#expiring.popUntil(now);
      if (!webhook) break;
      if (isBusy && webhook.isQuick(maxWaitMs)) {
        this.#expiring.push(now + StallAwareClock.beatMs, webhook);
        continue;
      }
      webhook.isExpiring = false;
      while ((webhook.expiry(maxWaitMs) ?? Infinity) <= now) {
        const at = webhook.schedule.reserve(webhook.endpoint.slotsFor(webhook), now);
        expired.push({ item: this.#leave(webhook), at });
      }
      this.#enqueue(webhook, now); // its limit may have grown, or the share of the troubled webhooks may have room
      this.#endpoints.rest(webhook, now);
    }
    this.#endpoints.forget(now);
    return expired;
  }

  /**
   * Reserves the next slot for a queued job without one. If the whole worker is full, the job waits for that too; otherwise it is
   * back at once.
   * @returns when the job is due again
   */
  nextSlotAt(place: Place, now: number): number {
    const webhook = this.#endpoints.of(place);
    const at = Math.max(
      this.#reserve(webhook, now) ?? now,
      this.#attempts.hasFreeSlot(0) ? now : this.#schedule.reserve(this.#limits.total, now),
    );
    this.#endpoints.rest(webhook, now);
    return at;
  }

  /**
   * Reserves a slot for a delivery whose full webhook has reservations beyond `maxWaitMs`; returns undefined if it is to be
   * offered.
   */
  slotBehindJobs(place: Place, now: number): number | undefined {
    const webhook = this.#endpoints.find(place);
    if (!webhook || !this.#attempts.isFull(webhook)) return undefined;
    if (webhook.schedule.reservedUntil <= now + this.#limits.maxWaitMs) return undefined;
    return webhook.schedule.reserve(webhook.endpoint.slotsFor(webhook), now);
  }

  /** Time of the next call of `expire`: no delivery expires earlier. */
  get nextExpiry(): number | undefined {
    return this.#expiring.firstKey;
  }

  /** Slots taken. */
  get running(): number {
    return this.#attempts.count;
  }

  /** Slots taken by slow and failing webhooks. */
  get runningTroubled(): number {
    return this.#attempts.troubled;
  }

  /** Deliveries that wait in memory. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Running attempts and waiting deliveries. */
  get size(): number {
    return this.running + this.#waiting;
  }

  /** Number of known endpoints. */
  get endpoints(): number {
    return this.#endpoints.size;
  }

  /** The known webhooks, and whether each is troubled; walks all of them, so for metrics only. */
  known(): Iterable<readonly [place: Place, isTroubled: boolean]> {
    return this.#endpoints.all();
  }

  /** For specs. */
  stateOf(place: Place) {
    const webhook = this.#endpoints.of(place);
    const { running, limit, endpoint } = webhook;
    const isFull = this.#attempts.isFull(webhook);
    this.#endpoints.rest(webhook, -Infinity);
    return { running, limit: limit.value, isTroubled: limit.isTroubled, isFull, endpoint };
  }

  #mayTake(webhook: WebhookSlots<T>, reserved: number): boolean {
    return this.#attempts.hasFreeSlot(reserved) && !this.#attempts.isFull(webhook);
  }

  #take(webhook: WebhookSlots<T>, now: number): void {
    this.#attempts.begin(webhook, now);
    this.#ready.take(webhook.partner);
    if (webhook.isOpen) {
      webhook.endpoint.openOrder.taken(webhook.id);
      webhook.endpoint.openSchedule.take(now);
    }
    webhook.schedule.take(now);
    this.#schedule.take(now);
    if (this.#attempts.isFull(webhook)) webhook.fullSince ??= now;
  }

  /** Returns when a slot should be free for a full webhook; undefined if the webhook is not full. */
  #reserve(webhook: WebhookSlots<T>, now: number): number | undefined {
    const { endpoint } = webhook;
    if (!endpoint.isNext(webhook, now)) return endpoint.reserveOpen(webhook, now);
    return this.#attempts.isFull(webhook) ? webhook.schedule.reserve(endpoint.slotsFor(webhook), now) : undefined;
  }

  /** Starts waiting deliveries while there are free slots. */
  #fill(now: number): T[] {
    const started: T[] = [];
    while (this.#attempts.hasFreeSlot(this.#reserved.countAt(now))) {
      const next = this.#ready.next(now);
      if (!next) break;
      next.isReady = false;
      if (next.first && !this.#attempts.isFull(next)) {
        this.#take(next, now);
        started.push(this.#leave(next));
      }
      this.#enqueue(next, now);
    }
    return started;
  }

  #leave(webhook: WebhookSlots<T>): T {
    this.#waiting -= 1;
    const item = webhook.leave();
    if (!webhook.first) webhook.endpoint.round.delete(webhook);
    return item;
  }

  /**
   * Queues a webhook with a waiting delivery for the next free slot or, if it is full, for its endpoint's round and its expiry.
   */
  #enqueue(webhook: WebhookSlots<T>, now: number): void {
    const { endpoint } = webhook;
    if (webhook.first && !webhook.isReady) {
      if (endpoint.round.size === 0 && !this.#attempts.isFull(webhook)) this.#makeReady(webhook, webhook.first.order);
      else this.#makeWait(webhook, now);
    }
    this.#advance(endpoint, now);
  }

  #makeReady(webhook: WebhookSlots<T>, order: number): void {
    webhook.isReady = true;
    this.#ready.push(webhook, order);
  }

  #makeWait(webhook: WebhookSlots<T>, now: number): void {
    webhook.fullSince ??= now;
    if (webhook.running < webhook.limit.value && !this.#attempts.waitForShare(webhook))
      webhook.endpoint.round.add(webhook);
    if (webhook.isExpiring) return;
    webhook.isExpiring = true;
    this.#expiring.push(webhook.expiry(this.#limits.maxWaitMs) ?? now, webhook);
  }

  /**
   * Makes the next webhook of an endpoint that may take a slot compete for one; if the worker is full, makes all of them compete.
   */
  #advance({ round }: EndpointSlots<T>, now: number): void {
    for (const webhook of round) {
      if (!webhook.first || this.#attempts.waitForShare(webhook) || this.#attempts.isFull(webhook)) continue;
      round.delete(webhook);
      this.#makeReady(webhook, webhook.first.order);
      if (this.#attempts.hasFreeSlot(this.#reserved.countAt(now))) return;
      webhook.fullSince = undefined;
    }
  }
}
