import type { AdaptiveLimit } from './adaptive-limit.js';
import type { EndpointSlots } from './endpoint-slots.js';
import { SlotSchedule } from './slot-schedule.js';

/** Weight of the newest latency in the moving average. */
const WEIGHT = 1 / 16;

interface Queued<T> {
  readonly item: T;
  readonly since: number;
  readonly order: number;
  next: Queued<T> | undefined;
}

/** The begin of an attempt by the wall clock and by the worker's own (`StallAwareClock`). */
interface Begin {
  readonly now: number;
  readonly own: number;
}

/** One webhook: its running attempts, its waiting deliveries, its limit, and the queues of the limiter that hold it. */
export class WebhookSlots<T> {
  readonly schedule = new SlotSchedule();
  /** The partner whose webhooks share the slots of the endpoint. */
  readonly partner: string;
  /** Running attempts, oldest first. */
  readonly #running: Begin[] = [];
  // The waiting deliveries, a linked list in order of arrival.
  #first: Queued<T> | undefined;
  #last: Queued<T> | undefined;
  /** Moving average of the duration of attempts by the worker's own clock. */
  #latencyMs: number | undefined;
  /** Time since which the webhook is full without a break, by its own limit or its endpoint's; undefined if it is not full. */
  fullSince: number | undefined;
  /** Time at which its last attempt ended, or its last job was refused because the webhook was full. */
  idleSince = -Infinity;
  /** Whether its breaker, or that of its endpoint, was open when it last asked for a slot. */
  isOpen = false;
  // Membership in the limiter's queues; a webhook is in each of them at most once.
  isReady = false;
  isExpiring = false;
  isWatched = false;
  isResting = false;

  constructor(
    readonly id: string,
    readonly endpoint: EndpointSlots<T>,
    readonly limit: AdaptiveLimit,
  ) {
    this.partner = endpoint.partner;
  }

  get running(): number {
    return this.#running.length;
  }

  /** Begin of the oldest running attempt by the worker's own clock. */
  get oldest(): number | undefined {
    return this.#running[0]?.own;
  }

  /** The delivery that has waited longest: since when, and its place in the order of all. */
  get first(): { readonly since: number; readonly order: number } | undefined {
    return this.#first;
  }

  /** Returns when the first delivery expires; undefined while it waits for the total only. */
  expiry(maxWaitMs: number): number | undefined {
    if (!this.#first || this.fullSince === undefined) return undefined;
    return Math.max(this.#first.since, this.fullSince) + maxWaitMs;
  }

  /** Whether its attempts end well and within this time, by the worker's own clock. */
  isQuick(withinMs: number): boolean {
    return !this.limit.isTroubled && (this.#latencyMs ?? Infinity) <= withinMs;
  }

  /** Adds the duration of an attempt, by the worker's own clock, to the average. */
  took(ownMs: number): void {
    this.#latencyMs = (this.#latencyMs ?? ownMs) * (1 - WEIGHT) + ownMs * WEIGHT;
  }

  begin(begin: Begin): void {
    this.#running.push(begin);
  }

  /** Ends one attempt and returns its begin. The duration identifies it to within the worker's own delay. */
  end(durationMs: number, now: number): Begin | undefined {
    const at = this.#lastBegunBy(now - durationMs);
    return this.#running.splice(Math.max(0, at), 1)[0];
  }

  /** Index of the last running attempt that had begun by this time; -1 when none had. */
  #lastBegunBy(time: number): number {
    let from = 0;
    let to = this.#running.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      const begin = this.#running[middle];
      if (begin !== undefined && begin.now <= time) from = middle + 1;
      else to = middle;
    }
    return from - 1;
  }

  /** Adds a waiting delivery. @returns whether it is the first */
  wait(item: T, since: number, order: number): boolean {
    const queued: Queued<T> = { item, since, order, next: undefined };
    const isFirst = this.#last === undefined;
    if (this.#last) this.#last.next = queued;
    else this.#first = queued;
    this.#last = queued;
    return isFirst;
  }

  /** Removes the first waiting delivery. */
  leave(): T {
    const queued = this.#first;
    if (!queued) throw new RangeError(`nothing waits for ${this.id}`);
    this.#first = queued.next;
    if (!queued.next) this.#last = undefined;
    return queued.item;
  }
}
