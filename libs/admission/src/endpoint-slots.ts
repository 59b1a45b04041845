import { INITIAL_LIMIT, type AdaptiveLimit } from './adaptive-limit.js';
import { RefusalOrder } from './refusal-order.js';
import { SlotSchedule } from './slot-schedule.js';
import type { WebhookSlots } from './webhook-slots.js';

/**
 * What the webhooks of one endpoint (a partner's origin) share: its cap, which grows with quick successes of any of them and
 * shrinks only with failures that say something about the origin itself.
 * - A webhook with its part of the cap, or more, leaves a quarter free. So a webhook that floods or is slow takes no slot
 *   from one that has less than its part.
 * - Attempts of slow and failing webhooks beyond a quarter, which began before the webhooks were known to be so, take no slot from
 *   the others: the endpoint then has more attempts than its cap, and never more than twice as many.
 * - All webhooks whose breakers are open have a quarter together, whoever was refused first comes first.
 */
export class EndpointSlots<T> {
  /** Those with a running attempt, a waiting delivery or a reserved slot, and those of the last minute. */
  readonly webhooks = new Map<string, WebhookSlots<T>>();
  readonly partner: string;
  /** Running attempts: all, those of slow and failing webhooks, and those of webhooks whose breakers are open. */
  running = 0;
  troubled = 0;
  open = 0;
  /** When a slot of the quarter for open breakers comes free, and whose it is. */
  readonly openSchedule = new SlotSchedule();
  readonly openOrder = new RefusalOrder();
  /** Webhooks with a waiting delivery that are below their own limits: slots go round by them. */
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
    // One slot at least is not theirs, also of a cap that shrank to one.
    const counted = this.running - Math.max(0, this.troubled - Math.min(this.#quarter, cap - 1));
    return counted >= (running < this.#part ? cap : cap - this.#quarter);
  }

  /** False where the quarter for open breakers is full, or others were refused before. */
  isNext({ isOpen, id }: WebhookSlots<T>, now: number): boolean {
    const room = Math.min(this.#quarter - this.open, this.cap.value - this.running);
    return !isOpen || this.openOrder.isNext(id, room, now);
  }

  /** How many slots the jobs of this webhook can count on. */
  slotsFor({ limit }: WebhookSlots<T>): number {
    return Math.min(limit.value, this.#part);
  }

  /** When a slot of the quarter comes free for this webhook, which keeps its place until then. Its other jobs come later. */
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

  /** Of the cap, for each webhook. */
  get #part(): number {
    return Math.max(1, Math.floor(this.cap.value / this.webhooks.size));
  }
}
