import { INITIAL_LIMIT } from './adaptive-limit.js';
import type { ConcurrencyLimits, ExpiredDelivery, SlotUse } from './concurrency-limits.js';
import type { EndpointSlots } from './endpoint-slots.js';
import { FairQueue } from './fair-queue.js';
import { Heap } from './heap.js';
import { KnownEndpoints } from './known-endpoints.js';
import { ReservedSlots } from './reserved-slots.js';
import { RunningAttempts } from './running-attempts.js';
import { SlotSchedule } from './slot-schedule.js';
import { StallAwareClock } from './stall-aware-clock.js';

/**
 * Decides which attempts run now: `total` in all (and `spare` where many endpoints begin to hang at once), to one endpoint
 * as many as its adaptive limit, to all troubled endpoints together no more than their share. An endpoint without a free
 * slot is full. A delivery without a slot waits in memory, in order of arrival.
 * - A free slot goes to the oldest delivery whose endpoint is not full, by `release` or `tick`; partners above their share
 *   come last. A full endpoint delays no other endpoint.
 * - After `maxWaitMs` with its endpoint full all the time a delivery leaves by `expire`. A delivery that waits for the
 *   total only stays, and so does one to a quick endpoint while this worker is busy: that is backpressure, and the
 *   reader pauses.
 *
 * Callers ask breakers and parking before they offer a delivery. No call scans the endpoints: it costs at most the logarithm
 * of the number of waiting deliveries, except for those of a partner that falls below its share.
 */
export class ConcurrencyLimiter<T> {
  readonly #limits: Required<ConcurrencyLimits>;
  readonly #endpoints: KnownEndpoints<T>;
  readonly #attempts: RunningAttempts<T>;
  readonly #schedule = new SlotSchedule();
  readonly #reserved: ReservedSlots;
  /** Endpoints that are not full, with a waiting delivery. */
  readonly #ready: FairQueue<EndpointSlots<T>>;
  /** Full endpoints with a waiting delivery, by a time at or before their first expiry, which never moves back. */
  readonly #expiring = new Heap<EndpointSlots<T>>();
  #order = 0;
  #waiting = 0;

  constructor(limits: ConcurrencyLimits) {
    const { total } = limits;
    this.#limits = { initial: INITIAL_LIMIT, troubled: total, spare: 0, perPartner: total, reserved: 0, ...limits };
    this.#reserved = new ReservedSlots(this.#limits.reserved);
    this.#ready = new FairQueue(this.#limits.perPartner);
    this.#attempts = new RunningAttempts(this.#limits);
    this.#endpoints = new KnownEndpoints(this.#limits.perEndpoint, this.#limits.initial);
  }

  /** A new delivery runs at once, or waits until `release`, `tick` or `expire` returns it. */
  offer(item: T, key: string, now: number): 'run' | 'wait' {
    const endpoint = this.#endpoints.of(key);
    if (!endpoint.first && this.#mayTake(endpoint, this.#reserved.countAt(now))) {
      this.#take(endpoint, now);
      return 'run';
    }
    this.#waiting += 1;
    if (endpoint.wait(item, now, (this.#order += 1))) this.#enqueue(endpoint, now);
    return 'wait';
  }

  /** Takes a slot for a queued job, which never waits here; without a slot `nextSlotAt` says when it is due again. */
  tryTake(key: string, now: number): boolean {
    const endpoint = this.#endpoints.of(key);
    if (this.#mayTake(endpoint, 0)) {
      this.#take(endpoint, now);
      this.#reserved.taken();
      return true;
    }
    if (!this.#attempts.isFull(endpoint)) {
      this.#ready.refused(endpoint.partner, now);
      this.#reserved.refused(now);
    }
    this.#endpoints.rest(endpoint, now);
    return false;
  }

  /**
   * Ends an attempt.
   * @param durationMs of the attempt
   * @returns the deliveries that start now
   * @throws RangeError when no attempt to this endpoint runs: a slot given back twice is a fault of ours
   */
  release(key: string, durationMs: number, now: number, use: SlotUse = 'succeeded'): T[] {
    const endpoint = this.#endpoints.find(key);
    if (!endpoint || endpoint.running === 0) throw new RangeError(`a slot of ${key} is given back but none was taken`);
    this.#attempts.end(endpoint, durationMs, now, use);
    this.#ready.giveBack(endpoint.partner);
    endpoint.idleSince = now;
    if (use !== 'unused') {
      endpoint.schedule.giveBack(durationMs, now);
      this.#schedule.giveBack(durationMs, now);
    }
    this.#enqueue(endpoint, now);
    for (const admitted of this.#attempts.admitToShare()) this.#enqueue(admitted, now);
    const started = this.#fill(now);
    // Only now: a slot that went to the next delivery of the same endpoint left it full without a break.
    if (!this.#attempts.isFull(endpoint)) endpoint.fullSince = undefined;
    this.#endpoints.rest(endpoint, now);
    this.#endpoints.forget(now);
    return started;
  }

  /** Finds slow endpoints; to be called every `beatMs` while attempts run or deliveries wait. @returns the deliveries that start now */
  tick(now: number): T[] {
    this.#attempts.beat(now, this.size === 0);
    for (const endpoint of this.#attempts.findSlow(now)) this.#endpoints.rest(endpoint, now);
    this.#endpoints.forget(now);
    return this.#fill(now);
  }

  static readonly beatMs = StallAwareClock.beatMs;

  /**
   * Removes the deliveries that waited too long for their endpoints.
   * @param isBusy whether this worker has no time left: then a quick endpoint is full because the worker is late
   * @returns each with the time at which its job is due
   */
  expire(now: number, isBusy = false): ExpiredDelivery<T>[] {
    const { maxWaitMs } = this.#limits;
    const expired: ExpiredDelivery<T>[] = [];
    for (;;) {
      const endpoint = this.#expiring.popUntil(now);
      if (!endpoint) break;
      if (isBusy && endpoint.isQuick(maxWaitMs)) {
        this.#expiring.push(now + StallAwareClock.beatMs, endpoint);
        continue;
      }
      endpoint.isExpiring = false;
      while ((endpoint.expiry(maxWaitMs) ?? Infinity) <= now) {
        const at = endpoint.schedule.reserve(endpoint.limit.value, now);
        expired.push({ item: this.#leave(endpoint), endpoint: endpoint.key, at });
      }
      this.#enqueue(endpoint, now); // its limit may have grown, or the share of the troubled endpoints may have room
      this.#endpoints.rest(endpoint, now);
    }
    this.#endpoints.forget(now);
    return expired;
  }

  /**
   * Reserves the next slot for a queued job without one. Where the worker as a whole is full the job waits for that as
   * well, or it would be back at once.
   * @returns when the job is due again
   */
  nextSlotAt(key: string, now: number): number {
    const endpoint = this.#endpoints.find(key);
    const { total } = this.#limits;
    return Math.max(
      now,
      endpoint && this.#attempts.isFull(endpoint) ? endpoint.schedule.reserve(endpoint.limit.value, now) : now,
      this.#attempts.hasFreeSlot(0) ? now : this.#schedule.reserve(total, now),
    );
  }

  /** Reserves a slot for a delivery whose full endpoint has reservations beyond `maxWaitMs`; undefined when it is to be offered. */
  slotBehindJobs(key: string, now: number): number | undefined {
    const endpoint = this.#endpoints.find(key);
    if (!endpoint || !this.#attempts.isFull(endpoint)) return undefined;
    if (endpoint.schedule.reservedUntil <= now + this.#limits.maxWaitMs) return undefined;
    return endpoint.schedule.reserve(endpoint.limit.value, now);
  }

  /** When to call `expire` next: no delivery expires earlier. */
  get nextExpiry(): number | undefined {
    return this.#expiring.firstKey;
  }

  /** Slots taken. */
  get running(): number {
    return this.#attempts.count;
  }

  /** Slots taken by slow and failing endpoints. */
  get runningTroubled(): number {
    return this.#attempts.troubled;
  }

  /** Deliveries that wait in memory. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Running attempts and waiting deliveries: the reader pauses by it. */
  get size(): number {
    return this.running + this.#waiting;
  }

  /** How many endpoints are known now. */
  get endpoints(): number {
    return this.#endpoints.size;
  }

  /** The known endpoints, and whether each is troubled; walks all of them, so for metrics only. */
  known(): Iterable<readonly [key: string, isTroubled: boolean]> {
    return this.#endpoints.all();
  }

  stateOf(key: string): { readonly running: number; readonly limit: number; readonly isTroubled: boolean } {
    const { initial, perEndpoint } = this.#limits;
    const { running = 0, limit } = this.#endpoints.find(key) ?? {};
    return { running, limit: limit?.value ?? Math.min(initial, perEndpoint), isTroubled: limit?.isTroubled === true };
  }

  #mayTake(endpoint: EndpointSlots<T>, reserved: number): boolean {
    return this.#attempts.hasFreeSlot(reserved) && !this.#attempts.isFull(endpoint);
  }

  #take(endpoint: EndpointSlots<T>, now: number): void {
    this.#attempts.begin(endpoint, now);
    this.#ready.take(endpoint.partner);
    endpoint.schedule.take(now);
    this.#schedule.take(now);
    if (this.#attempts.isFull(endpoint)) endpoint.fullSince ??= now;
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

  #leave(endpoint: EndpointSlots<T>): T {
    this.#waiting -= 1;
    return endpoint.leave();
  }

  /** Queues an endpoint with a waiting delivery: for the next free slot, or when it is full for the expiry. */
  #enqueue(endpoint: EndpointSlots<T>, now: number): void {
    const { first } = endpoint;
    if (!first || endpoint.isReady) return;
    if (!this.#attempts.isFull(endpoint)) {
      endpoint.isReady = true;
      this.#ready.push(endpoint, first.order);
      return;
    }
    endpoint.fullSince ??= now;
    if (endpoint.running < endpoint.limit.value) this.#attempts.waitForShare(endpoint);
    if (endpoint.isExpiring) return;
    endpoint.isExpiring = true;
    this.#expiring.push(endpoint.expiry(this.#limits.maxWaitMs) ?? now, endpoint);
  }
}
