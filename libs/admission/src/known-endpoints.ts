import { AdaptiveLimit } from './adaptive-limit.js';
import { EndpointSlots } from './endpoint-slots.js';
import { Heap } from './heap.js';

/** An idle endpoint is remembered for as long as a slot reserved for an endpoint that answers within seconds can lie ahead. */
const REMEMBERED_MS = 60_000;

/** The endpoints with a running attempt, a waiting delivery or a reserved slot, and those of the last minute. */
export class KnownEndpoints<T> {
  readonly #known = new Map<string, EndpointSlots<T>>();
  /** Idle endpoints by a time at or before which they cannot be forgotten. */
  readonly #resting = new Heap<EndpointSlots<T>>();

  constructor(
    private readonly maximum: number,
    private readonly initial: number,
  ) {}

  get size(): number {
    return this.#known.size;
  }

  find(key: string): EndpointSlots<T> | undefined {
    return this.#known.get(key);
  }

  of(key: string): EndpointSlots<T> {
    let endpoint = this.#known.get(key);
    if (!endpoint) {
      endpoint = new EndpointSlots(key, new AdaptiveLimit(this.maximum, this.initial));
      this.#known.set(key, endpoint);
    }
    return endpoint;
  }

  *all(): Generator<readonly [key: string, isTroubled: boolean]> {
    for (const [key, { limit }] of this.#known) yield [key, limit.isTroubled];
  }

  /** Forgets an idle endpoint, or schedules that for the time when it is in no queue and old enough. */
  rest(endpoint: EndpointSlots<T>, now: number): void {
    if (endpoint.running > 0 || endpoint.first) return;
    if (endpoint.isReady || endpoint.isExpiring || endpoint.isWatched || endpoint.isResting) return;
    const until = endpoint.idleSince + REMEMBERED_MS;
    if (until > now) {
      endpoint.isResting = true;
      this.#resting.push(until, endpoint);
    } else {
      this.#known.delete(endpoint.key);
    }
  }

  /** Forgets the endpoints that have been idle for long enough. */
  forget(now: number): void {
    for (;;) {
      const endpoint = this.#resting.popUntil(now);
      if (!endpoint) break;
      endpoint.isResting = false;
      this.rest(endpoint, now);
    }
  }
}
