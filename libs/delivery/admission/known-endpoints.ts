import { AdaptiveLimit } from './adaptive-limit.js';
import { EndpointSlots } from './endpoint-slots.js';
import { Heap } from './heap.js';
import type { Place } from './concurrency-limits.js';
import { WebhookSlots } from './webhook-slots.js';

/**
 * Time in ms for which an idle webhook is remembered: as long as a slot reserved for an endpoint that answers within seconds can
 * lie ahead.
 */
const REMEMBERED_MS = 60_000;

/**
 * The webhooks with a running attempt, a waiting delivery or a reserved slot, and the webhooks of the last minute, by endpoint.
 */
export class KnownEndpoints<T> {
  readonly #known = new Map<string, EndpointSlots<T>>();
  /** Idle webhooks by a time at or before which they cannot be forgotten. */
  readonly #resting = new Heap<WebhookSlots<T>>();

  constructor(
    private readonly maximum: number,
    private readonly initial: number,
  ) {}

  get size(): number {
    return this.#known.size;
  }

  find({ endpoint, id }: Place): WebhookSlots<T> | undefined {
    return this.#known.get(endpoint)?.webhooks.get(id);
  }

  of({ endpoint: key, id }: Place): WebhookSlots<T> {
    let endpoint = this.#known.get(key);
    if (!endpoint) this.#known.set(key, (endpoint = new EndpointSlots(key, this.#limit())));
    let webhook = endpoint.webhooks.get(id);
    if (!webhook) endpoint.webhooks.set(id, (webhook = new WebhookSlots(id, endpoint, this.#limit())));
    return webhook;
  }

  *all(): Generator<readonly [place: Place, isTroubled: boolean]> {
    for (const [endpoint, { webhooks }] of this.#known)
      for (const [id, { limit }] of webhooks) yield [{ endpoint, id }, limit.isTroubled];
  }

  /** Forgets an idle webhook, or schedules that for the time when it is in no queue and old enough. */
  rest(webhook: WebhookSlots<T>, now: number): void {
    if (webhook.running > 0 || webhook.first) return;
    if (webhook.isReady || webhook.isExpiring || webhook.isWatched || webhook.isResting) return;
    const until = webhook.idleSince + REMEMBERED_MS;
    if (until > now) {
      webhook.isResting = true;
      this.#resting.push(until, webhook);
    } else {
      const { endpoint } = webhook;
      endpoint.webhooks.delete(webhook.id);
      if (endpoint.webhooks.size === 0) this.#known.delete(endpoint.key);
    }
  }

  /** Forgets the webhooks that have been idle for long enough. */
  forget(now: number): void {
    for (;;) {
      const webhook = this.#resting.popUntil(now);
      if (!webhook) break;
      webhook.isResting = false;
      this.rest(webhook, now);
    }
  }

  #limit(): AdaptiveLimit {
    return new AdaptiveLimit(this.maximum, this.initial);
  }
}
