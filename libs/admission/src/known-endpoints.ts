import { AdaptiveCap } from './adaptive-limit.js';
import { GateEndpoint } from './endpoint-slots.js';
import { Heap } from './heap.js';

/** What is known of an endpoint is kept this long after its last attempt: until every slot reserved for one that answers within seconds has passed. */
const REMEMBERED_MS = 60_000;

/** The endpoints that the gate knows: each as long as something of it runs, waits or is reserved, and a minute more. */
export class GateEndpoints<T> {
  readonly #known = new Map<string, GateEndpoint<T>>();
  /** Endpoints that were idle, by a time at or before they are forgotten. */
  readonly #resting = new Heap<GateEndpoint<T>>();

  constructor(
    private readonly limit: number,
    private readonly firstCap: number,
  ) {}

  get size(): number {
    return this.#known.size;
  }

  find(key: string): GateEndpoint<T> | undefined {
    return this.#known.get(key);
  }

  of(key: string): GateEndpoint<T> {
    let endpoint = this.#known.get(key);
    if (!endpoint) {
      endpoint = new GateEndpoint(key, new AdaptiveCap(this.limit, this.firstCap));
      this.#known.set(key, endpoint);
    }
    return endpoint;
  }

  /** Every endpoint that is known: its key, and whether it is troubled. */
  *all(): Generator<readonly [key: string, isTroubled: boolean]> {
    for (const [key, { cap }] of this.#known) yield [key, cap.isTroubled];
  }

  /** Forgets an endpoint if nothing of it is left; while it stands in a line of the gate, or is worth remembering, later. */
  rest(endpoint: GateEndpoint<T>, now: number): void {
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

  /** Forgets those whose time has come. */
  forget(now: number): void {
    for (;;) {
      const endpoint = this.#resting.popUntil(now);
      if (!endpoint) break;
      endpoint.isResting = false;
      this.rest(endpoint, now);
    }
  }
}
