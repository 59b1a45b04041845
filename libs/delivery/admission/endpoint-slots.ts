import { INITIAL_LIMIT, type AdaptiveLimit } from './adaptive-limit.js';
import { RefusalOrder } from './refusal-order.js';
import { SlotSchedule } from './slot-schedule.js';
import type { WebhookSlots } from './webhook-slots.js';

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
