import type { ConcurrencyLimits, Place, SlotUse } from './concurrency-limits.js';
import { type EndpointSlots, KnownEndpoints } from './endpoint-slots.js';
import { FairQueue } from './fair-queue.js';
import { Heap } from './heap.js';
import { RunningAttempts, StallAwareClock } from './running-attempts.js';
import { ReservedSlots, SlotSchedule } from './slot-schedule.js';
import { INITIAL_LIMIT, type WebhookSlots } from './webhook-slots.js';

/**
 * Decides which attempts of a worker may run now. An attempt needs a slot under all of these limits:
 * - `total` limits all attempts. If many webhooks begin to hang at once, `spare` slots are added to it.
 * - An adaptive limit applies to the attempts of one webhook.
 * - A cap applies to the attempts to one endpoint (see `EndpointSlots`).
 * - A shared limit applies to the attempts of all troubled webhooks, which are slow or failing.
 *
 * A webhook without a free slot is called full. A new delivery without a slot waits in memory.
 * - `release` and `tick` give a free slot to the oldest delivery whose webhook is not full. Partners that have more than
 *   their share come last. The webhooks of an endpoint take its slots in turn. A full webhook does not delay other webhooks.
 * - `expire` removes a delivery if its webhook was full for all of `maxWaitMs`. It does not remove a delivery that only
 *   lacks a slot under `total`, nor, while this worker is busy, a delivery of a quick webhook. In both cases the worker
 *   itself is the bottleneck, so the reader pauses.
 *
 * Callers check breakers and parking before they offer a delivery. Only `known` scans all endpoints. The cost of any other
 * call grows at most with the logarithm of the number of waiting deliveries, except in two cases: when a partner falls below
 * its share, the call visits all entries of the partner; and a call may visit all webhooks of one endpoint that have
 * deliveries waiting in memory.
 */
export class ConcurrencyLimiter<T> {
  readonly #limits: Required<ConcurrencyLimits>;
  readonly #endpoints: KnownEndpoints<T>;
  readonly #attempts: RunningAttempts<T>;
  readonly #schedule = new SlotSchedule();
  readonly #reserved: ReservedSlots;
  /** Webhooks that have a waiting delivery and are not full. */
  readonly #ready: FairQueue<WebhookSlots<T>>;
  /** Full webhooks that have a waiting delivery. The key is a time at which the first delivery expires at the earliest. */
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

  /** Offers a new delivery. It runs at once, or waits until `release`, `tick` or `expire` returns it. */
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
   * Takes a slot for a queued job. Returns false if there is no slot: queued jobs never wait here, so `nextSlotAt` then
   * returns when the job is due again.
   * @param isOpen true if the breaker of the webhook or of its endpoint is open
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
    } else webhook.idleSince = now; // keeps the reservations; otherwise all jobs come back together
    this.#endpoints.rest(webhook, now);
    return false;
  }

  /**
   * Ends an attempt and gives its slot back.
   * @param durationMs duration of the attempt
   * @returns the deliveries that start now
   * @throws RangeError if no attempt of this webhook is running, because giving a slot back twice is a bug
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
    // Reset only here, because the freed slot may have gone to the next delivery of the same webhook. In that case the
    // webhook was full all the time.
    if (!this.#attempts.isFull(webhook)) webhook.fullSince = undefined;
    this.#endpoints.rest(webhook, now);
    this.#endpoints.forget(now);
    return started;
  }

  /**
   * Finds slow webhooks. It is called every `beatMs` while attempts run or deliveries wait.
   * @returns the deliveries that start now
   */
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
   * Removes the deliveries that have waited too long for their webhooks.
   * @param isBusy true if this worker is overloaded; a quick webhook is then full only because the worker is late
   * @returns the removed deliveries, each with the time at which its job is due
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
      this.#enqueue(webhook, now); // one of the limits may have room now
      this.#endpoints.rest(webhook, now);
    }
    this.#endpoints.forget(now);
    return expired;
  }

  /**
   * Reserves the next slot for a queued job that got none. If the whole worker is full, the job also waits for a slot of the
   * worker. If neither the webhook nor the worker is full any more, the job is due at once.
   * @returns epoch milliseconds at which the job is due again
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
   * If the webhook is full and its queued jobs have reserved slots for longer than `maxWaitMs`, reserves a slot for a new
   * delivery behind these jobs and returns its time. Otherwise returns undefined, and the caller offers the delivery.
   */
  slotBehindJobs(place: Place, now: number): number | undefined {
    const webhook = this.#endpoints.find(place);
    if (!webhook || !this.#attempts.isFull(webhook)) return undefined;
    if (webhook.schedule.reservedUntil <= now + this.#limits.maxWaitMs) return undefined;
    return webhook.schedule.reserve(webhook.endpoint.slotsFor(webhook), now);
  }

  /** Time at which `expire` has to be called next. No delivery expires earlier. */
  get nextExpiry(): number | undefined {
    return this.#expiring.firstKey;
  }

  /** Number of running attempts. */
  get running(): number {
    return this.#attempts.count;
  }

  /** Number of running attempts of slow and failing webhooks. */
  get runningTroubled(): number {
    return this.#attempts.troubled;
  }

  /** Number of deliveries that wait in memory. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Number of running attempts and waiting deliveries together. */
  get size(): number {
    return this.running + this.#waiting;
  }

  /** Number of known endpoints. */
  get endpoints(): number {
    return this.#endpoints.size;
  }

  /**
   * Returns the known webhooks, and for each whether it is troubled. Use it only for metrics, because it visits all
   * webhooks.
   */
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

  /** Returns when a full webhook is expected to have a free slot; undefined if the webhook is not full. */
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
   * If a webhook has a waiting delivery, queues it for the next free slot. A full webhook is queued for its turn at the
   * endpoint and for its expiry.
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
   * Queues the next webhook of an endpoint that may take a slot for the next free slot. If the worker is full, queues all
   * webhooks of the endpoint that may take one.
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
