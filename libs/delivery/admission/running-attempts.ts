import { INITIAL_LIMIT, SLOW_MS } from './adaptive-limit.js';
import type { ConcurrencyLimits, SlotUse } from './concurrency-limits.js';
import { Heap } from './heap.js';
import { TroubledShare } from './troubled-share.js';
import { StallAwareClock } from './stall-aware-clock.js';
import type { WebhookSlots } from './webhook-slots.js';

/** The running attempts of a worker: how many slots are taken, and what an attempt's duration and end say about its webhook. */
export class RunningAttempts<T> {
  readonly #clock = new StallAwareClock();
  readonly #troubled: TroubledShare<WebhookSlots<T>>;
  /** Webhooks that are not troubled, by the time (own clock) at or before which their oldest attempt becomes slow. */
  readonly #watched = new Heap<WebhookSlots<T>>();
  readonly #total: number;
  #count = 0;

  constructor({ total, troubled, spare, hasTroubledParts }: Required<ConcurrencyLimits>) {
    this.#total = total;
    this.#troubled = new TroubledShare(troubled, spare, hasTroubledParts);
  }

  get count(): number {
    return this.#count;
  }

  /** Attempts of troubled webhooks. */
  get troubled(): number {
    return this.#troubled.running;
  }

  /** @param reserved slots that are not for the caller */
  hasFreeSlot(reserved: number): boolean {
    // Attempts that slow webhooks hold beyond their share do not count: they began before the webhook was known to be slow.
    return this.#count - this.#troubled.beyond < this.#total - reserved;
  }

  /** Whether there is no slot for this webhook, whatever the worker has free. */
  isFull(webhook: WebhookSlots<T>): boolean {
    const { running, limit, endpoint } = webhook;
    return running >= limit.value || endpoint.isFullFor(webhook) || this.#isShareFullFor(webhook);
  }

  begin(webhook: WebhookSlots<T>, now: number): void {
    const { endpoint } = webhook;
    this.#clock.start(now);
    webhook.begin({ now, own: this.#clock.at(now) });
    this.#count += 1;
    endpoint.running += 1;
    if (webhook.isOpen) endpoint.open += 1;
    if (webhook.limit.isTroubled) this.#countTroubled(webhook, 1);
    this.#watch(webhook);
  }

  /** Ends an attempt, and adapts the limits of its webhook and endpoint unless the duration says more about this process. */
  end(webhook: WebhookSlots<T>, durationMs: number, now: number, use: SlotUse): void {
    const { limit, endpoint } = webhook;
    const own = this.#clock.at(now);
    const begun = webhook.end(durationMs, now)?.own ?? own;
    this.#count -= 1;
    endpoint.running -= 1;
    if (webhook.isOpen) endpoint.open -= 1;
    if (limit.isTroubled) this.#countTroubled(webhook, -1);
    const ownMs = Math.min(durationMs, own - begun);
    if (use !== 'unused') {
      webhook.took(ownMs);
      if (durationMs <= 2 * Math.max(ownMs, 1) || durationMs <= SLOW_MS) this.#learn(webhook, use, ownMs > SLOW_MS);
    }
    this.#watch(webhook);
  }

  /** Notes whether the breaker of the webhook, or of its endpoint, is open. */
  mark(webhook: WebhookSlots<T>, isOpen: boolean): void {
    if (webhook.isOpen === isOpen) return;
    webhook.isOpen = isOpen;
    webhook.endpoint.open += isOpen ? webhook.running : -webhook.running;
  }

  /** Takes a beat of the clock. `stop` says that no further beat is due. */
  beat(now: number, stop: boolean): void {
    this.#clock.beat(now);
    if (stop) this.#clock.stop();
  }

  /** Makes the webhooks troubled whose oldest attempt is slow. Yields every webhook that was looked at. */
  *findSlow(now: number): Generator<WebhookSlots<T>> {
    const own = this.#clock.at(now);
    for (;;) {
      const webhook = this.#watched.popUntil(own);
      if (!webhook) return;
      webhook.isWatched = false;
      if ((webhook.oldest ?? Infinity) + SLOW_MS <= own) this.#adapt(webhook, () => webhook.limit.slow());
      this.#watch(webhook);
      yield webhook;
    }
  }

  /** Makes a webhook wait if it lacks only a slot of the share of the troubled webhooks. @returns whether it waits */
  waitForShare(webhook: WebhookSlots<T>): boolean {
    if (!this.#isShareFullFor(webhook)) return false;
    this.#troubled.wait(webhook);
    return true;
  }

  /** Returns webhooks with a waiting delivery for which the share of the troubled webhooks has room now. */
  admitToShare(): Iterable<WebhookSlots<T>> {
    return this.#troubled.admit(({ first }) => first !== undefined);
  }

  #isShareFullFor({ limit, partner }: WebhookSlots<T>): boolean {
    return limit.isTroubled && this.#troubled.isFullFor(partner);
  }

  #learn(webhook: WebhookSlots<T>, use: Exclude<SlotUse, 'unused'>, isSlow: boolean): void {
    const { limit, endpoint } = webhook;
    this.#adapt(webhook, () => {
      if (use !== 'succeeded') limit.failed();
      else if (isSlow) limit.succeededSlowly();
      else limit.succeeded();
    });
    // A failure that is an answer, or a slow success, concerns this webhook and says nothing about the others of the endpoint.
    if (use === 'unreached') endpoint.cap.failed();
    else if (use === 'succeeded' && (!isSlow || endpoint.cap.value < INITIAL_LIMIT)) endpoint.cap.succeeded();
  }

  #adapt(webhook: WebhookSlots<T>, change: () => void): void {
    const before = webhook.limit.isTroubled;
    change();
    const after = webhook.limit.isTroubled;
    if (before !== after) this.#countTroubled(webhook, after ? webhook.running : -webhook.running);
  }

  #countTroubled({ endpoint }: WebhookSlots<T>, count: number): void {
    this.#troubled.count(endpoint.partner, count);
    endpoint.troubled += count;
  }

  #watch(webhook: WebhookSlots<T>): void {
    const { oldest } = webhook;
    if (webhook.isWatched || webhook.limit.isTroubled || oldest === undefined) return;
    webhook.isWatched = true;
    this.#watched.push(oldest + SLOW_MS, webhook);
  }
}
