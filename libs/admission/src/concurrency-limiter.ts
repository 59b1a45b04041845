import { FIRST_CAP, SLOW_MS } from './adaptive-limit.js';
import type { Ended, Expired, GateLimits } from './concurrency-limits.js';
import type { GateEndpoint } from './endpoint-slots.js';
import { Partners } from './fair-queue.js';
import { Heap } from './heap.js';
import { GateEndpoints } from './known-endpoints.js';
import { OwedSlots } from './reserved-slots.js';
import { Backlog } from './slot-schedule.js';
import { TroubledShare } from './slow-endpoint-share.js';
import { Pace } from './stall-aware-clock.js';

/**
 * Which attempts run now: `total` in all (and `spare` where many endpoints begin to hang at once), to one endpoint as
 * many as its adaptive cap says, to all troubled endpoints together no more than their share. An endpoint with none left
 * is full. What finds no slot waits in memory, in order of arrival.
 * - It leaves by `release` or `tick`, when a slot comes free that it may take: the oldest delivery whose endpoint is not
 *   full, partners that hold more than theirs last. A full endpoint delays nobody else.
 * - Or it leaves by `expire`, after `maxWaitMs` with its endpoint full all the time. Where only the total is reached it
 *   stays: that is backpressure, and the reader pauses.
 *
 * Breaker and parking are asked before anything is offered. Nothing here scans the endpoints: a call costs at most the
 * logarithm of how many wait, but for what waits of a partner that comes back below its share.
 */
export class Gate<T> {
  readonly #limits: Required<GateLimits>;
  readonly #endpoints: GateEndpoints<T>;
  readonly #whole = new Backlog();
  readonly #owed: OwedSlots;
  readonly #pace = new Pace();
  /** Endpoints that are not full, with something waiting. */
  readonly #partners: Partners<GateEndpoint<T>>;
  readonly #troubled: TroubledShare<GateEndpoint<T>>;
  /** Full endpoints with something waiting, by a time at or before the first expiry: that only ever moves on. */
  readonly #expiring = new Heap<GateEndpoint<T>>();
  /** Endpoints that are not troubled, by the time (our pace) at or before which what runs longest becomes slow. */
  readonly #watched = new Heap<GateEndpoint<T>>();
  #order = 0;
  #running = 0;
  #waiting = 0;

  constructor(limits: GateLimits) {
    const { total } = limits;
    this.#limits = { first: FIRST_CAP, troubled: total, spare: 0, perPartner: total, owed: 0, ...limits };
    this.#owed = new OwedSlots(this.#limits.owed);
    this.#partners = new Partners(this.#limits.perPartner);
    this.#troubled = new TroubledShare(this.#limits.troubled, this.#limits.spare);
    this.#endpoints = new GateEndpoints(this.#limits.perEndpoint, this.#limits.first);
  }

  /** Brings a delivery: it runs at once, or waits until `release`, `tick` or `expire` gives it back. */
  offer(item: T, key: string, now: number): 'run' | 'wait' {
    const endpoint = this.#endpoints.of(key);
    if (!endpoint.first && this.#mayTake(endpoint, this.#owed.of(now))) {
      this.#take(endpoint, now);
      return 'run';
    }
    this.#waiting += 1;
    if (endpoint.wait(item, now, (this.#order += 1))) this.#line(endpoint, now);
    return 'wait';
  }

  /** Takes a slot for a queued job, which never waits here; when there is none `backlogAt` says when to come again. */
  tryTake(key: string, now: number): boolean {
    const endpoint = this.#endpoints.of(key);
    if (this.#mayTake(endpoint, 0)) {
      this.#take(endpoint, now);
      this.#owed.taken();
      return true;
    }
    if (!this.#isFull(endpoint)) {
      this.#partners.refused(endpoint.partner, now);
      this.#owed.refused(now);
    }
    this.#endpoints.rest(endpoint, now);
    return false;
  }

  /**
   * Ends an attempt and returns what starts in its place.
   * @param durationMs how long the attempt took
   * @throws RangeError when nothing of this endpoint runs: a slot given back twice is a fault of ours
   */
  release(key: string, durationMs: number, now: number, ended: Ended = 'succeeded'): T[] {
    const endpoint = this.#endpoints.find(key);
    if (!endpoint || endpoint.running === 0) throw new RangeError(`a slot of ${key} is given back but none was taken`);
    this.#judge(endpoint, durationMs, now, ended);
    endpoint.idleSince = now;
    if (ended !== 'unused') {
      endpoint.backlog.giveBack(durationMs, now);
      this.#whole.giveBack(durationMs, now);
    }
    this.#line(endpoint, now);
    for (const admitted of this.#troubled.admit(({ first }) => first !== undefined)) this.#line(admitted, now);
    const started = this.#fill(now);
    // Only now: a slot that went to the next delivery of the same endpoint left it full without a break.
    if (!this.#isFull(endpoint)) endpoint.fullSince = undefined;
    this.#endpoints.rest(endpoint, now);
    this.#endpoints.forget(now);
    return started;
  }

  /** To be called every `Gate.beatMs` while anything runs or waits: finds what is slow. Returns what starts now. */
  tick(now: number): T[] {
    this.#pace.beat(now);
    if (this.size === 0) this.#pace.rest();
    const pace = this.#pace.at(now);
    for (;;) {
      const endpoint = this.#watched.popUntil(pace);
      if (!endpoint) break;
      endpoint.isWatched = false;
      if ((endpoint.oldest ?? Infinity) + SLOW_MS <= pace) this.#change(endpoint, () => endpoint.cap.slow());
      this.#watch(endpoint);
      this.#endpoints.rest(endpoint, now);
    }
    this.#endpoints.forget(now);
    return this.#fill(now);
  }

  static readonly beatMs = Pace.beatMs;

  /** Gives back every delivery that waited too long for its endpoint, with the time at which its job is due. */
  expire(now: number): Expired<T>[] {
    const expired: Expired<T>[] = [];
    for (;;) {
      const endpoint = this.#expiring.popUntil(now);
      if (!endpoint) break;
      endpoint.isExpiring = false;
      while ((endpoint.expiry(this.#limits.maxWaitMs) ?? Infinity) <= now) {
        const at = endpoint.backlog.reserve(endpoint.cap.value, now);
        expired.push({ item: this.#leave(endpoint), endpoint: endpoint.key, at });
      }
      this.#line(endpoint, now); // its cap may have grown meanwhile, or the share of the troubled have room
      this.#endpoints.rest(endpoint, now);
    }
    this.#endpoints.forget(now);
    return expired;
  }

  /**
   * Reserves the next slot for a queued job that was refused one: the time at which it is due again.
   * Where the worker as a whole is full the job waits for that as well, or it would be back at once.
   */
  backlogAt(key: string, now: number): number {
    const endpoint = this.#endpoints.find(key);
    const { total } = this.#limits;
    return Math.max(
      now,
      endpoint && this.#isFull(endpoint) ? endpoint.backlog.reserve(endpoint.cap.value, now) : now,
      this.#counted >= total ? this.#whole.reserve(total, now) : now,
    );
  }

  /** Reserves a slot for a delivery whose endpoint is full, with jobs in line for longer than it would wait here; undefined when it is to be offered. */
  behind(key: string, now: number): number | undefined {
    const endpoint = this.#endpoints.find(key);
    if (!endpoint || !this.#isFull(endpoint)) return undefined;
    if (endpoint.backlog.reservedUntil <= now + this.#limits.maxWaitMs) return undefined;
    return endpoint.backlog.reserve(endpoint.cap.value, now);
  }

  /** When to call `expire` next. It may find nothing then, but nothing expires earlier. */
  get nextExpiry(): number | undefined {
    return this.#expiring.firstKey;
  }

  /** Slots taken. */
  get running(): number {
    return this.#running;
  }

  /** Slots taken by slow and failing endpoints. */
  get runningTroubled(): number {
    return this.#troubled.running;
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

  /** Which endpoints those are, and whether they are troubled; goes through all of them, so only for who watches. */
  known(): Iterable<readonly [key: string, isTroubled: boolean]> {
    return this.#endpoints.all();
  }

  /** How an endpoint stands now. */
  stateOf(key: string): { readonly running: number; readonly cap: number; readonly isTroubled: boolean } {
    const { first, perEndpoint } = this.#limits;
    const { running = 0, cap } = this.#endpoints.find(key) ?? {};
    return { running, cap: cap?.value ?? Math.min(first, perEndpoint), isTroubled: cap?.isTroubled === true };
  }

  /** What runs, less what hangs beyond the share of the troubled: that began before it was known, and is taken from nobody else. */
  get #counted(): number {
    return this.#running - this.#troubled.beyond;
  }

  #mayTake(endpoint: GateEndpoint<T>, kept: number): boolean {
    return this.#counted < this.#limits.total - kept && !this.#isFull(endpoint);
  }

  #isFull({ running, cap }: GateEndpoint<T>): boolean {
    return running >= cap.value || (cap.isTroubled && this.#troubled.isFull);
  }

  #take(endpoint: GateEndpoint<T>, now: number): void {
    this.#pace.wake(now);
    endpoint.begin({ now, pace: this.#pace.at(now) });
    this.#running += 1;
    if (endpoint.cap.isTroubled) this.#troubled.running += 1;
    this.#partners.take(endpoint.partner);
    endpoint.backlog.take(now);
    this.#whole.take(now);
    if (this.#isFull(endpoint)) endpoint.fullSince ??= now;
    this.#watch(endpoint);
  }

  /** Ends one of what runs, and lets the cap know how it went unless that says more about us than about the endpoint. */
  #judge(endpoint: GateEndpoint<T>, durationMs: number, now: number, ended: Ended): void {
    const { cap } = endpoint;
    const pace = this.#pace.at(now);
    const began = endpoint.end(durationMs, now)?.pace ?? pace;
    this.#running -= 1;
    if (cap.isTroubled) this.#troubled.running -= 1;
    this.#partners.giveBack(endpoint.partner);
    const ownMs = Math.min(durationMs, pace - began);
    this.#change(endpoint, () => {
      if (ended === 'unused') return;
      if (durationMs > 2 * Math.max(ownMs, 1) && durationMs > SLOW_MS) return;
      if (ended === 'failed') cap.failed();
      else if (ownMs > SLOW_MS) cap.succeededSlowly();
      else cap.succeeded();
    });
    this.#watch(endpoint);
  }

  /** Changes what is known of an endpoint, keeping count of what runs troubled. */
  #change(endpoint: GateEndpoint<T>, change: () => void): void {
    const before = endpoint.cap.isTroubled;
    change();
    const after = endpoint.cap.isTroubled;
    if (before !== after) this.#troubled.running += after ? endpoint.running : -endpoint.running;
  }

  #watch(endpoint: GateEndpoint<T>): void {
    const { oldest } = endpoint;
    if (endpoint.isWatched || endpoint.cap.isTroubled || oldest === undefined) return;
    endpoint.isWatched = true;
    this.#watched.push(oldest + SLOW_MS, endpoint);
  }

  /** Starts what may start, as long as there are slots. */
  #fill(now: number): T[] {
    const started: T[] = [];
    while (this.#counted < this.#limits.total - this.#owed.of(now)) {
      const next = this.#partners.next(now);
      if (!next) break;
      next.isReady = false;
      if (next.first && !this.#isFull(next)) {
        this.#take(next, now);
        started.push(this.#leave(next));
      }
      this.#line(next, now);
    }
    return started;
  }

  #leave(endpoint: GateEndpoint<T>): T {
    this.#waiting -= 1;
    return endpoint.leave();
  }

  /** Lines an endpoint up if something waits for it: for the next free slot, or when it is full for the expiry. */
  #line(endpoint: GateEndpoint<T>, now: number): void {
    const { first } = endpoint;
    if (!first || endpoint.isReady) return;
    if (!this.#isFull(endpoint)) {
      endpoint.isReady = true;
      this.#partners.line(endpoint, first.order);
      return;
    }
    endpoint.fullSince ??= now;
    if (endpoint.running < endpoint.cap.value) this.#troubled.wait(endpoint);
    if (endpoint.isExpiring) return;
    endpoint.isExpiring = true;
    this.#expiring.push(endpoint.expiry(this.#limits.maxWaitMs) ?? now, endpoint);
  }
}
