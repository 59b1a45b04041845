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

/**
 * Time at which an attempt began, by the wall clock (`now`) and by the worker's own clock (`own`, see `StallAwareClock`).
 */
interface Begin {
  readonly now: number;
  readonly own: number;
}

/** The running attempts, waiting deliveries and limit of one webhook, and the limiter's queues that contain the webhook. */
export class WebhookSlots<T> {
  readonly schedule = new SlotSchedule();
  /** The partner whose webhooks share the slots of the endpoint. */
  readonly partner: string;
  /** Running attempts, the oldest first. */
  readonly #running: Begin[] = [];
  // The waiting deliveries: a linked list in order of arrival.
  #first: Queued<T> | undefined;
  #last: Queued<T> | undefined;
  /** Moving average of the duration of the webhook's attempts, by the worker's own clock. */
  #latencyMs: number | undefined;
  /**
   * Time since which every slot that the webhook may use has been taken (`RunningAttempts.isFull`); undefined if it may use
   * a free one.
   */
  fullSince: number | undefined;
  /** Time at which the webhook's last attempt ended, or its last job was refused because the webhook was full. */
  idleSince = -Infinity;
  /** Whether the breaker of the webhook or of its endpoint was open when the webhook last asked for a slot. */
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

  /** Time at which the oldest running attempt began, by the worker's own clock. */
  get oldest(): number | undefined {
    return this.#running[0]?.own;
  }

  /** The delivery that has waited longest: when its wait began, and its position in the order of all deliveries. */
  get first(): { readonly since: number; readonly order: number } | undefined {
    return this.#first;
  }

  /** Returns when the first waiting delivery expires; undefined if none waits, or if the webhook is not full. */
  expiry(maxWaitMs: number): number | undefined {
    if (!this.#first || this.fullSince === undefined) return undefined;
    return Math.max(this.#first.since, this.fullSince) + maxWaitMs;
  }

  /** Whether attempts of the webhook succeed and take at most `withinMs` on average, by the worker's own clock. */
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

  /**
   * Ends the running attempt that took `durationMs`, and returns its begin. The caller names no attempt, so the attempt that
   * began last at or before `now - durationMs` is taken.
   */
  end(durationMs: number, now: number): Begin | undefined {
    const at = this.#lastBegunBy(now - durationMs);
    return this.#running.splice(Math.max(0, at), 1)[0];
  }

  /** Returns the index of the last running attempt that began at or before `time`; -1 if there is none. */
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

  /** Adds a waiting delivery. @returns whether no other delivery waits before it */
  wait(item: T, since: number, order: number): boolean {
    const queued: Queued<T> = { item, since, order, next: undefined };
    const isFirst = this.#last === undefined;
    if (this.#last) this.#last.next = queued;
    else this.#first = queued;
    this.#last = queued;
    return isFirst;
  }

  /** Removes the first waiting delivery and returns it. */
  leave(): T {
    const queued = this.#first;
    if (!queued) throw new RangeError(`nothing waits for ${this.id}`);
    this.#first = queued.next;
    if (!queued.next) this.#last = undefined;
    return queued.item;
  }
}

/** Limit of a webhook or endpoint that has made no attempt yet. */
export const INITIAL_LIMIT = 8;
/** Milliseconds after which an attempt is slow, which makes its webhook troubled. */
export const SLOW_MS = 1_000;
/** Quick successes in a row after which a webhook is no longer troubled. */
const RECOVERED_AFTER = 8;

/**
 * Limit of the attempts to one webhook, or to one endpoint, that run at the same time. It starts at 8 and grows by one with
 * each quick success up to its maximum, so it doubles with every round of attempts. Each failure in a row lowers it by twice
 * as much as the failure before: by 1, 2, 4 and so on, down to a limit of 1. For example, six failures in a row lower a
 * limit of 64 to 1. If fewer than one attempt in three fail, the limit still grows. Slow successes lower the limit to 8 but
 * no further, because a slow webhook works; it must only not occupy many slots.
 *
 * A webhook is troubled from a failure or a slow attempt on, until it has 8 quick successes in a row. All troubled webhooks
 * together get only a share of the worker's slots (`TroubledShare`).
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

  /** Lowers the limit because an attempt that still runs has exceeded `SLOW_MS`. */
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
