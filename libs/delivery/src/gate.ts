import { Backlog } from './gate-backlog.js';
import { Heap } from './gate-heap.js';

export interface GateLimits {
  /** Attempts running at once in this worker. */
  readonly total: number;
  /** Attempts running at once to one endpoint. */
  readonly perEndpoint: number;
  /** How long a delivery waits in memory for its endpoint before it becomes a job. */
  readonly maxWaitMs: number;
}

/** A delivery that waited too long for its endpoint: it becomes a job that is due at this time. */
export interface Expired<T> {
  readonly item: T;
  readonly endpoint: string;
  readonly at: number;
}

interface Waiting<T> {
  readonly item: T;
  readonly since: number;
  readonly order: number;
  next: Waiting<T> | undefined;
}

interface Endpoint<T> {
  readonly key: string;
  readonly backlog: Backlog;
  running: number;
  /** Since when it is at its cap without a break; undefined below the cap. */
  fullSince: number | undefined;
  /** What waits, a linked list in order of arrival. */
  first: Waiting<T> | undefined;
  last: Waiting<T> | undefined;
  /** Whether it stands in `#expiring`, and in `#reserved`: each holds an endpoint at most once. */
  isExpiring: boolean;
  isReserved: boolean;
}

/**
 * Which attempts run now: at most `perEndpoint` to one endpoint and `total` in all. What finds no slot waits in memory,
 * in order of arrival.
 * - It leaves by `release`, when a slot comes free that it may take: the oldest delivery whose endpoint is below its cap.
 *   So while a slot is free everything that waits has a full endpoint, and a full endpoint delays nobody else.
 * - Or it leaves by `expire`, after `maxWaitMs` with its endpoint full all the time. Where only the total is reached it
 *   stays: that is backpressure, and the reader pauses.
 *
 * The adaptive cap takes the place of `#capOf`; breaker and parking ask before they offer. An endpoint is known only
 * while something of it runs, waits or is reserved. Nothing here scans the endpoints: a call costs at most the
 * logarithm of how many wait.
 */
export class Gate<T> {
  readonly #limits: GateLimits;
  readonly #endpoints = new Map<string, Endpoint<T>>();
  readonly #whole = new Backlog();
  /** Endpoints below their cap with something waiting, by the age of what waits first. Empty while a slot is free. */
  readonly #ready = new Heap<Endpoint<T>>();
  /** Full endpoints with something waiting, by a time at or before the first expiry: that only ever moves on. */
  readonly #expiring = new Heap<Endpoint<T>>();
  /** Endpoints that were idle while slots were reserved, by a time at or before the end of that. */
  readonly #reserved = new Heap<Endpoint<T>>();
  #order = 0;
  #running = 0;
  #waiting = 0;

  constructor(limits: GateLimits) {
    this.#limits = limits;
  }

  /** Brings a delivery: it runs at once, or waits until `release` or `expire` gives it back. */
  offer(item: T, key: string, now: number): 'run' | 'wait' {
    if (this.tryTake(key, now)) return 'run';
    const endpoint = this.#endpointOf(key);
    const waiting: Waiting<T> = { item, since: now, order: (this.#order += 1), next: undefined };
    const isFirst = endpoint.last === undefined;
    if (endpoint.last) endpoint.last.next = waiting;
    else endpoint.first = waiting;
    endpoint.last = waiting;
    this.#waiting += 1;
    if (isFirst) this.#line(endpoint);
    return 'wait';
  }

  /** Takes a slot for a queued job, which never waits here; when there is none `backlogAt` says when to come again. */
  tryTake(key: string, now: number): boolean {
    const known = this.#endpoints.get(key);
    if (this.#running >= this.#limits.total || (known && this.#isFull(known))) return false;
    this.#take(known ?? this.#endpointOf(key), now);
    return true;
  }

  /**
   * Ends an attempt and returns what starts in its place.
   * @param durationMs how long the attempt took
   * @throws RangeError when nothing of this endpoint runs: a slot given back twice is a fault of ours
   */
  release(key: string, durationMs: number, now: number): T[] {
    const endpoint = this.#endpoints.get(key);
    if (!endpoint || endpoint.running === 0) throw new RangeError(`a slot of ${key} is given back but none was taken`);
    const wasFull = this.#isFull(endpoint);
    endpoint.running -= 1;
    this.#running -= 1;
    endpoint.backlog.giveBack(durationMs, now);
    this.#whole.giveBack(durationMs, now);
    if (wasFull) this.#line(endpoint);
    const started: T[] = [];
    while (this.#running < this.#limits.total) {
      const next = this.#ready.pop();
      if (!next) break;
      this.#take(next, now);
      started.push(this.#leave(next).item);
      this.#line(next);
    }
    // Only now: a slot that went to the next delivery of the same endpoint left it full without a break.
    if (!this.#isFull(endpoint)) endpoint.fullSince = undefined;
    this.#forgetIfIdle(endpoint, now);
    this.#forgetIdle(now);
    return started;
  }

  /** Gives back every delivery that waited too long for its endpoint, with the time at which its job is due. */
  expire(now: number): Expired<T>[] {
    const expired: Expired<T>[] = [];
    for (;;) {
      const endpoint = this.#expiring.popUntil(now);
      if (!endpoint) break;
      endpoint.isExpiring = false;
      while ((this.#expiryOf(endpoint) ?? Infinity) <= now) {
        const at = endpoint.backlog.reserve(this.#capOf(endpoint), now);
        expired.push({ item: this.#leave(endpoint).item, endpoint: endpoint.key, at });
      }
      if (this.#isFull(endpoint)) this.#line(endpoint);
      this.#forgetIfIdle(endpoint, now);
    }
    this.#forgetIdle(now);
    return expired;
  }

  /**
   * Reserves the next slot for a queued job that was refused one: the time at which it is due again.
   * Where the worker as a whole is full the job waits for that as well, or it would be back at once.
   */
  backlogAt(key: string, now: number): number {
    const endpoint = this.#endpoints.get(key);
    const { total } = this.#limits;
    return Math.max(
      now,
      endpoint && this.#isFull(endpoint) ? endpoint.backlog.reserve(this.#capOf(endpoint), now) : now,
      this.#running >= total ? this.#whole.reserve(total, now) : now,
    );
  }

  /**
   * Reserves a slot for a delivery that need not wait in memory at all: its endpoint is full, and jobs stand in line for
   * longer than it would wait. Undefined when it is to be offered.
   */
  behind(key: string, now: number): number | undefined {
    const endpoint = this.#endpoints.get(key);
    if (!endpoint || !this.#isFull(endpoint)) return undefined;
    if (endpoint.backlog.reservedUntil <= now + this.#limits.maxWaitMs) return undefined;
    return endpoint.backlog.reserve(this.#capOf(endpoint), now);
  }

  /** When to call `expire` next. It may find nothing then, but nothing expires earlier. */
  get nextExpiry(): number | undefined {
    return this.#expiring.firstKey;
  }

  /** Slots taken. */
  get running(): number {
    return this.#running;
  }

  /** Deliveries that wait in memory. */
  get waiting(): number {
    return this.#waiting;
  }

  /** What runs and what waits: the reader pauses by it. */
  get size(): number {
    return this.#running + this.#waiting;
  }

  /** Endpoints that are known at the moment. */
  get endpoints(): number {
    return this.#endpoints.size;
  }

  #capOf(_endpoint: Endpoint<T>): number {
    return this.#limits.perEndpoint;
  }

  #isFull(endpoint: Endpoint<T>): boolean {
    return endpoint.running >= this.#capOf(endpoint);
  }

  #endpointOf(key: string): Endpoint<T> {
    let endpoint = this.#endpoints.get(key);
    if (!endpoint) {
      endpoint = {
        key,
        backlog: new Backlog(),
        running: 0,
        fullSince: undefined,
        first: undefined,
        last: undefined,
        isExpiring: false,
        isReserved: false,
      };
      this.#endpoints.set(key, endpoint);
    }
    return endpoint;
  }

  #take(endpoint: Endpoint<T>, now: number): void {
    endpoint.running += 1;
    this.#running += 1;
    endpoint.backlog.take(now);
    this.#whole.take(now);
    if (this.#isFull(endpoint)) endpoint.fullSince ??= now;
  }

  /** Takes the delivery that waits first out. */
  #leave(endpoint: Endpoint<T>): Waiting<T> {
    const waiting = endpoint.first;
    if (!waiting) throw new RangeError(`nothing waits for ${endpoint.key}`);
    endpoint.first = waiting.next;
    if (!waiting.next) endpoint.last = undefined;
    this.#waiting -= 1;
    return waiting;
  }

  /** Lines an endpoint up if something waits for it: below its cap for the next free slot, else for the expiry. */
  #line(endpoint: Endpoint<T>): void {
    if (!endpoint.first) return;
    if (!this.#isFull(endpoint)) {
      this.#ready.push(endpoint.first.order, endpoint);
      return;
    }
    const expiry = this.#expiryOf(endpoint);
    if (endpoint.isExpiring || expiry === undefined) return;
    endpoint.isExpiring = true;
    this.#expiring.push(expiry, endpoint);
  }

  /** When what waits first expires; undefined while that waits for nothing but the total. */
  #expiryOf({ first, fullSince }: Endpoint<T>): number | undefined {
    if (!first || fullSince === undefined) return undefined;
    return Math.max(first.since, fullSince) + this.#limits.maxWaitMs;
  }

  /** Forgets an endpoint of which nothing runs, waits or is reserved; one that stands in a heap once it leaves that. */
  #forgetIfIdle(endpoint: Endpoint<T>, now: number): void {
    if (endpoint.running > 0 || endpoint.first || endpoint.isExpiring || endpoint.isReserved) return;
    if (endpoint.backlog.reservedUntil > now) {
      endpoint.isReserved = true;
      this.#reserved.push(endpoint.backlog.reservedUntil, endpoint);
    } else {
      this.#endpoints.delete(endpoint.key);
    }
  }

  #forgetIdle(now: number): void {
    for (;;) {
      const endpoint = this.#reserved.popUntil(now);
      if (!endpoint) break;
      endpoint.isReserved = false;
      this.#forgetIfIdle(endpoint, now);
    }
  }
}
