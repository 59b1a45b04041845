import type { Place } from './concurrency-limits.js';
import { Heap } from './heap.js';
import { SlotSchedule } from './slot-schedule.js';
import { AdaptiveLimit, INITIAL_LIMIT, WebhookSlots } from './webhook-slots.js';

/**
 * Time in ms for which an idle webhook is remembered. A slot of an endpoint that answers within seconds is reserved at most
 * this long in advance.
 */
const REMEMBERED_MS = 60_000;

/**
 * The known webhooks by endpoint: webhooks that have a running attempt, a waiting delivery or a reserved slot, and webhooks
 * that had one in the last minute.
 */
export class KnownEndpoints<T> {
  readonly #known = new Map<string, EndpointSlots<T>>();
  /** Idle webhooks. The key is the time at which the webhook can be forgotten at the earliest. */
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

  /**
   * Forgets a webhook that is idle, in no queue and old enough. If it is not old enough yet, schedules another check for
   * later.
   */
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
 * The slots that the webhooks of one endpoint (a partner's origin) share. Their cap grows with quick successes of any of the
 * webhooks. It shrinks only if an attempt does not reach the origin.
 * - The cap is divided equally among the webhooks. A webhook that uses its part or more leaves a quarter of the cap free.
 *   Therefore a webhook that is flooded or slow takes no slot from a webhook that uses less than its part.
 * - Slow and failing webhooks may use a quarter of the cap. If more of their attempts are running, which began before the
 *   webhooks were known to be slow, the excess is not counted against other webhooks. The endpoint then has more attempts
 *   than its cap, but never more than twice as many.
 * - All webhooks whose breakers are open share a quarter of the cap. The webhook that was refused first gets the first slot.
 */
export class EndpointSlots<T> {
  /** The known webhooks of the endpoint. */
  readonly webhooks = new Map<string, WebhookSlots<T>>();
  readonly partner: string;
  /** Number of running attempts: of all webhooks, of slow and failing webhooks, and of webhooks whose breakers are open. */
  running = 0;
  troubled = 0;
  open = 0;
  /** Times at which slots for webhooks with open breakers become free, and the order in which these webhooks take them. */
  readonly openSchedule = new SlotSchedule();
  readonly openOrder = new RefusalOrder();
  /** Webhooks that have a waiting delivery and are below their own limits. They take slots in turn. */
  readonly round = new Set<WebhookSlots<T>>();

  constructor(
    readonly key: string,
    readonly cap: AdaptiveLimit,
  ) {
    this.partner = key.slice(0, Math.max(0, key.indexOf(' ')));
  }

  /** Returns true if the endpoint has no slot for this webhook. The webhook's own limit is not checked here. */
  isFullFor({ isOpen, limit, running }: WebhookSlots<T>): boolean {
    const cap = this.cap.value;
    if (isOpen) return this.running >= cap || this.open >= this.#quarter;
    if (limit.isTroubled)
      return (
        this.running >= cap ||
        (this.webhooks.size > 1 && this.troubled >= Math.max(this.#quarter, Math.min(INITIAL_LIMIT, cap)))
      );
    // One slot is always left for webhooks that are not troubled, even if the cap has shrunk to one.
    const counted = this.running - Math.max(0, this.troubled - Math.min(this.#quarter, cap - 1));
    return counted >= (running < this.#part ? cap : cap - this.#quarter);
  }

  /**
   * Returns false if the breaker is open and either its quarter of the cap is full or webhooks that were refused earlier
   * come first.
   */
  isNext({ isOpen, id }: WebhookSlots<T>, now: number): boolean {
    const room = Math.min(this.#quarter - this.open, this.cap.value - this.running);
    return !isOpen || this.openOrder.isNext(id, room, now);
  }

  /** Number of slots that the jobs of this webhook can expect. */
  slotsFor({ limit }: WebhookSlots<T>): number {
    return Math.min(limit.value, this.#part);
  }

  /**
   * Returns when a slot for open breakers becomes free for this webhook, which keeps its position until then. If the webhook
   * already has such a time, its other jobs get later times.
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

  /** The number of slots of the cap that belong to each webhook. */
  get #part(): number {
    return Math.max(1, Math.floor(this.cap.value / this.webhooks.size));
  }
}

/** If a webhook does not return within this time in ms after its scheduled time, it loses its position. */
const LATE_MS = 1_000;

/** Webhooks that found no slot and will try again, in the order in which each was first refused. */
class RefusalOrder {
  /** Time at which each webhook tries again. */
  readonly #refused = new Map<string, number>();

  /**
   * Adds a refused webhook that will try again at this time. If the webhook is already in the order, it keeps its position.
   */
  refused(id: string, at: number): void {
    this.#refused.set(id, at);
  }

  /** Returns when a webhook tries again. The time may be in the past. */
  timeOf(id: string): number | undefined {
    return this.#refused.get(id);
  }

  /** Removes a webhook that got a slot. */
  taken(id: string): void {
    this.#refused.delete(id);
  }

  /** Returns true if `room` free slots are enough for this webhook and all webhooks before it. */
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
