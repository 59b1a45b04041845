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

/** Limit of a webhook or endpoint without history. */
export const INITIAL_LIMIT = 8;
/** Duration in ms above which an attempt makes its webhook troubled. */
export const SLOW_MS = 1_000;
/** Quick successes in a row that end the trouble of a webhook. */
const RECOVERED_AFTER = 8;

/**
 * Limit of the attempts of one webhook, or to one endpoint, that run at once. It starts at 8 and grows by one with each quick
 * success, so it doubles with every round of attempts, up to its maximum. Failures in a row take away one, two, four and so on,
 * down to 1. Six of them bring a limit of 64 there, while a webhook that fails less than one attempt in three still grows. Slow
 * successes lower the limit of a webhook to 8 and no further: a slow webhook works, it only must not hold many slots.
 *
 * A webhook is troubled after a failure or a slow attempt until 8 quick successes in a row. All troubled webhooks together have a
 * share of the worker's slots (`TroubledShare`).
 */
export class AdaptiveLimit {
  readonly #maximum: number;
  readonly #initial: number;
  #value: number;
  #quickSuccesses = RECOVERED_AFTER;
  #step = 1;

  constructor(maximum: number, initial: number) {
    this.#maximum = maximum;
    this.#initial = Math.min(initial, maximum);
    this.#value = this.#initial;
  }

  get value(): number {
    return this.#value;
  }

  get isTroubled(): boolean {
    return this.#quickSuccesses < RECOVERED_AFTER;
  }

  failed(): void {
    this.#quickSuccesses = 0;
    this.#value = Math.max(1, this.#value - this.#step);
    this.#step = Math.min(this.#step * 2, this.#maximum);
  }

  /** Lowers the limit for a running attempt that has exceeded `SLOW_MS`. */
  slow(): void {
    this.#quickSuccesses = 0;
    this.#value = Math.min(this.#value, this.#initial);
  }

  succeeded(): void {
    this.#step = 1;
    this.#quickSuccesses = Math.min(this.#quickSuccesses + 1, RECOVERED_AFTER);
    this.#value = Math.min(this.#value + 1, this.#maximum);
  }

  succeededSlowly(): void {
    this.#step = 1;
    this.slow();
    this.#value = Math.min(this.#value + 1, this.#initial);
  }
}
