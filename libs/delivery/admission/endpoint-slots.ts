import type { Place } from './concurrency-limits.js';
import { Heap } from './heap.js';
import { SlotSchedule } from './slot-schedule.js';
import { AdaptiveLimit, INITIAL_LIMIT, WebhookSlots } from './webhook-slots.js';

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

/**
 * The slots that the webhooks of one endpoint (a partner's origin) share. Their cap grows with quick successes of any of them and
 * shrinks only with failures that say something about the origin itself.
 * - A webhook with its part of the cap, or more, leaves a quarter free. Therefore a webhook that floods or is slow takes no slot
 *   from a webhook with less than its part.
 * - Attempts of slow and failing webhooks beyond a quarter, which began before the webhooks were known to be so, take no slot
 *   from other webhooks: the endpoint then has more attempts than its cap, and never more than twice as many.
 * - All webhooks whose breakers are open have a quarter together; the webhook that was refused first comes first.
 */
export class EndpointSlots<T> {
  /** Webhooks with a running attempt, a waiting delivery or a reserved slot, and webhooks of the last minute. */
  readonly webhooks = new Map<string, WebhookSlots<T>>();
  readonly partner: string;
  /** Running attempts: all, those of slow and failing webhooks, and those of webhooks whose breakers are open. */
  running = 0;
  troubled = 0;
  open = 0;
  /** Times at which slots of the quarter for open breakers come free, and the order of the webhooks that take them. */
  readonly openSchedule = new SlotSchedule();
  readonly openOrder = new RefusalOrder();
  /** Webhooks with a waiting delivery that are below their own limits. They take slots in turn. */
  readonly round = new Set<WebhookSlots<T>>();

  constructor(
    readonly key: string,
    readonly cap: AdaptiveLimit,
  ) {
    this.partner = key.slice(0, Math.max(0, key.indexOf(' ')));
  }

  /** Whether the endpoint has no slot for this webhook, whatever the webhook's own limit is. */
  isFullFor({ isOpen, limit, running }: WebhookSlots<T>): boolean {
    const cap = this.cap.value;
    if (isOpen) return this.running >= cap || this.open >= this.#quarter;
    if (limit.isTroubled)
      return (
        this.running >= cap ||
        (this.webhooks.size > 1 && this.troubled >= Math.max(this.#quarter, Math.min(INITIAL_LIMIT, cap)))
      );
    // At least one slot is not for troubled webhooks, even if the cap has shrunk to one.
    const counted = this.running - Math.max(0, this.troubled - Math.min(this.#quarter, cap - 1));
    return counted >= (running < this.#part ? cap : cap - this.#quarter);
  }

  /** Returns false if the quarter for open breakers is full, or other webhooks were refused before. */
  isNext({ isOpen, id }: WebhookSlots<T>, now: number): boolean {
    const room = Math.min(this.#quarter - this.open, this.cap.value - this.running);
    return !isOpen || this.openOrder.isNext(id, room, now);
  }

  /** Number of slots that the jobs of this webhook can count on. */
  slotsFor({ limit }: WebhookSlots<T>): number {
    return Math.min(limit.value, this.#part);
  }

  /**
   * Returns when a slot of the quarter comes free for this webhook, which keeps its place until then. Its other jobs come later.
   */
  reserveOpen({ id, schedule }: WebhookSlots<T>, now: number): number {
    const before = this.openOrder.timeOf(id);
    if (before !== undefined && before > now) return Math.max(before, schedule.reserve(1, now));
    const at =
      before === undefined ? this.openSchedule.reserve(this.#quarter, now) : this.openSchedule.soon(this.#quarter, now);
    this.openOrder.refused(id, at);
    return at;
  }

  get #quarter(): number {
    return Math.max(1, this.cap.value >> 2);
  }

  /** The part of the cap for each webhook. */
  get #part(): number {
    return Math.max(1, Math.floor(this.cap.value / this.webhooks.size));
  }
}

/** Time in ms after which a webhook that has not come back at its time loses its place. */
const LATE_MS = 1_000;

/** Webhooks that found no slot and come back for one, in the order in which each was first refused. */
class RefusalOrder {
  /** Time at which each webhook comes back. */
  readonly #refused = new Map<string, number>();

  /** Adds a refused webhook, which comes back at this time. It keeps its place if it has one. */
  refused(id: string, at: number): void {
    this.#refused.set(id, at);
  }

  /** Returns when a webhook comes back, or should have come back. */
  timeOf(id: string): number | undefined {
    return this.#refused.get(id);
  }

  /** Removes a webhook that has a slot. */
  taken(id: string): void {
    this.#refused.delete(id);
  }

  /** Whether `room` free slots are enough for this webhook and those before it. */
  isNext(id: string, room: number, now: number): boolean {
    let before = 0;
    for (const [each, at] of this.#refused) {
      if (each === id) break;
      if (at + LATE_MS < now) this.#refused.delete(each);
      else if ((before += 1) >= room) return false;
    }
    return before < room;
  }
}
