import { SLOW_MS } from './adaptive-limit.js';
import type { ConcurrencyLimits, SlotUse } from './concurrency-limits.js';
import type { EndpointSlots } from './endpoint-slots.js';
import { Heap } from './heap.js';
import { SlowEndpointShare } from './slow-endpoint-share.js';
import { StallAwareClock } from './stall-aware-clock.js';

/** The running attempts of a worker: how many slots are taken, and what an attempt's duration and end say about its endpoint. */
export class RunningAttempts<T> {
  readonly #clock = new StallAwareClock();
  readonly #troubled: SlowEndpointShare<EndpointSlots<T>>;
  /** Endpoints that are not troubled, by the time (own clock) at or before which their oldest attempt becomes slow. */
  readonly #watched = new Heap<EndpointSlots<T>>();
  readonly #total: number;
  #count = 0;

  constructor({ total, troubled, spare }: Required<ConcurrencyLimits>) {
    this.#total = total;
    this.#troubled = new SlowEndpointShare(troubled, spare);
  }

  get count(): number {
    return this.#count;
  }

  /** Attempts to troubled endpoints. */
  get troubled(): number {
    return this.#troubled.running;
  }

  /** @param reserved slots that are not for the caller */
  hasFreeSlot(reserved: number): boolean {
    // Attempts that slow endpoints hold beyond their share do not count: they began before the endpoint was known to be slow.
    return this.#count - this.#troubled.beyond < this.#total - reserved;
  }

  isFull({ running, limit }: EndpointSlots<T>): boolean {
    return running >= limit.value || (limit.isTroubled && this.#troubled.isFull);
  }

  begin(endpoint: EndpointSlots<T>, now: number): void {
    this.#clock.start(now);
    endpoint.begin({ now, own: this.#clock.at(now) });
    this.#count += 1;
    if (endpoint.limit.isTroubled) this.#troubled.running += 1;
    this.#watch(endpoint);
  }

  /** Ends an attempt, and adapts the limit of its endpoint unless the duration says more about this process. */
  end(endpoint: EndpointSlots<T>, durationMs: number, now: number, use: SlotUse): void {
    const { limit } = endpoint;
    const own = this.#clock.at(now);
    const begun = endpoint.end(durationMs, now)?.own ?? own;
    this.#count -= 1;
    if (limit.isTroubled) this.#troubled.running -= 1;
    const ownMs = Math.min(durationMs, own - begun);
    if (use !== 'unused') endpoint.took(ownMs);
    this.#adapt(endpoint, () => {
      if (use === 'unused') return;
      if (durationMs > 2 * Math.max(ownMs, 1) && durationMs > SLOW_MS) return;
      if (use === 'failed') limit.failed();
      else if (ownMs > SLOW_MS) limit.succeededSlowly();
      else limit.succeeded();
    });
    this.#watch(endpoint);
  }

  /** A beat of the clock; `stop` while no further one is due. */
  beat(now: number, stop: boolean): void {
    this.#clock.beat(now);
    if (stop) this.#clock.stop();
  }

  /** Makes the endpoints troubled whose oldest attempt is slow. Yields every endpoint that was looked at. */
  *findSlow(now: number): Generator<EndpointSlots<T>> {
    const own = this.#clock.at(now);
    for (;;) {
      const endpoint = this.#watched.popUntil(own);
      if (!endpoint) return;
      endpoint.isWatched = false;
      if ((endpoint.oldest ?? Infinity) + SLOW_MS <= own) this.#adapt(endpoint, () => endpoint.limit.slow());
      this.#watch(endpoint);
      yield endpoint;
    }
  }

  /** The endpoint is below its limit and waits for the share of the troubled endpoints. */
  waitForShare(endpoint: EndpointSlots<T>): void {
    this.#troubled.wait(endpoint);
  }

  /** Endpoints with a waiting delivery for which that share has room now. */
  admitToShare(): Iterable<EndpointSlots<T>> {
    return this.#troubled.admit(({ first }) => first !== undefined);
  }

  #adapt(endpoint: EndpointSlots<T>, change: () => void): void {
    const before = endpoint.limit.isTroubled;
    change();
    const after = endpoint.limit.isTroubled;
    if (before !== after) this.#troubled.running += after ? endpoint.running : -endpoint.running;
  }

  #watch(endpoint: EndpointSlots<T>): void {
    const { oldest } = endpoint;
    if (endpoint.isWatched || endpoint.limit.isTroubled || oldest === undefined) return;
    endpoint.isWatched = true;
    this.#watched.push(oldest + SLOW_MS, endpoint);
  }
}
