import type { ConcurrencyLimits, SlotUse } from './concurrency-limits.js';
import { Heap } from './heap.js';
import { INITIAL_LIMIT, SLOW_MS, type WebhookSlots } from './webhook-slots.js';

/**
 * Tracks the running attempts of a worker. It counts the slots that are taken, and adapts the limits of a webhook when an
 * attempt is slow or ends.
 */
export class RunningAttempts<T> {
  readonly #clock = new StallAwareClock();
  readonly #troubled: TroubledShare<WebhookSlots<T>>;
  /**
   * Webhooks that are not troubled. The key is the time of `StallAwareClock` at which the oldest attempt becomes slow at the
   * earliest.
   */
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

  /** Number of running attempts of troubled webhooks. */
  get troubled(): number {
    return this.#troubled.running;
  }

  /** @param reserved number of slots that are not available to the caller */
  hasFreeSlot(reserved: number): boolean {
    // Attempts of slow webhooks beyond their shared limit are not counted. They began before the webhook was known to be
    // slow.
    return this.#count - this.#troubled.beyond < this.#total - reserved;
  }

  /** Returns true if there is no slot for this webhook. Whether the worker has a free slot is not checked here. */
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

  /**
   * Ends an attempt and adapts the limits of its webhook and endpoint. If this process stalled for most of the duration, the
   * limits are not changed.
   */
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

  /** Records whether the breaker of the webhook or of its endpoint is open. */
  mark(webhook: WebhookSlots<T>, isOpen: boolean): void {
    if (webhook.isOpen === isOpen) return;
    webhook.isOpen = isOpen;
    webhook.endpoint.open += isOpen ? webhook.running : -webhook.running;
  }

  /** Passes a beat to the clock. `stop` is true if no further beat is expected. */
  beat(now: number, stop: boolean): void {
    this.#clock.beat(now);
    if (stop) this.#clock.stop();
  }

  /** Marks each webhook as troubled whose oldest attempt has become slow. Yields every webhook that was checked. */
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

  /**
   * If the shared limit of the troubled webhooks has no slot for this webhook, makes the webhook wait for one.
   * @returns true if the webhook waits
   */
  waitForShare(webhook: WebhookSlots<T>): boolean {
    if (!this.#isShareFullFor(webhook)) return false;
    this.#troubled.wait(webhook);
    return true;
  }

  /** Returns webhooks with a waiting delivery for which the shared limit of the troubled webhooks has room now. */
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
    // An error response or a slow success concerns only this webhook. It says nothing about the other webhooks of the
    // endpoint.
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

/**
 * The slots that all troubled webhooks share, and the webhooks that wait only for such a slot. Partners take turns. If
 * `hasParts` is true, every partner may use only as much as it leaves free: a single partner may use half of the slots, two
 * partners a third each. Therefore a new partner finds a slot, even if another partner exceeds the limit with attempts that
 * began before its webhooks were known to be slow.
 */
class TroubledShare<E extends { readonly partner: string }> {
  running = 0;
  readonly #runningOf = new Map<string, number>();
  readonly #waiting = new Map<string, Set<E>>();

  constructor(
    private readonly limit: number,
    private readonly spare: number,
    private readonly hasParts: boolean,
  ) {}

  /**
   * Number of slots taken beyond the limit, at most `spare`. Their attempts began before the webhooks were known to be slow.
   */
  get beyond(): number {
    return Math.min(this.spare, Math.max(0, this.running - this.limit));
  }

  isFullFor(partner: string): boolean {
    return this.#roomOf(partner) <= 0;
  }

  /** Adds running attempts of the partner's troubled webhooks, or subtracts them if `count` is negative. */
  count(partner: string, count: number): void {
    this.running += count;
    const running = (this.#runningOf.get(partner) ?? 0) + count;
    if (running > 0) this.#runningOf.set(partner, running);
    else this.#runningOf.delete(partner);
  }

  wait(webhook: E): void {
    const waiting = this.#waiting.get(webhook.partner);
    if (waiting === undefined) this.#waiting.set(webhook.partner, new Set([webhook]));
    else waiting.add(webhook);
  }

  /**
   * Removes as many webhooks as there is room for, one of each partner in turn. A webhook without a waiting delivery takes
   * no room.
   */
  *admit(isWaiting: (webhook: E) => boolean): Generator<E> {
    const admitted = new Map<string, number>();
    for (const [partner, waiting] of this.#waiting) {
      const key = this.hasParts ? partner : '';
      const before = admitted.get(key) ?? 0;
      if (before >= this.#roomOf(partner)) continue;
      this.#waiting.delete(partner);
      const [webhook] = waiting;
      if (webhook === undefined) continue;
      waiting.delete(webhook);
      if (waiting.size > 0) this.#waiting.set(partner, waiting); // moves the partner to the end, so that it is visited again
      if (!isWaiting(webhook)) continue;
      admitted.set(key, before + 1);
      yield webhook;
    }
  }

  #roomOf(partner: string): number {
    const room = this.limit - this.running;
    if (!this.hasParts) return room;
    const running = this.#runningOf.get(partner) ?? 0;
    const partners = this.#runningOf.size + (running > 0 ? 0 : 1);
    const part = Math.floor(this.limit / (partners + 1));
    // If there are at least as many partners as slots, each partner gets one slot while any slot is free.
    return part > 0 ? part - running : Math.min(1 - running, room);
  }
}

/** Interval of the beats in ms. A late beat reveals that the process stalled. */
const BEAT_MS = 50;

/**
 * A clock that stops while the process is stalled. A timer calls `beat` regularly, and the clock leaves out the time by
 * which a beat is late. The durations of attempts are measured with this clock. Otherwise every response looks slow in a
 * worker that gets too little processor time, and the limits are lowered although the endpoints are fine.
 */
export class StallAwareClock {
  static readonly beatMs = BEAT_MS;
  #stalledMs = 0;
  #lastBeat: number | undefined;

  beat(now: number): void {
    this.#stalledMs += this.#lateness(now);
    this.#lastBeat = now;
  }

  /** Expects beats from now on. */
  start(now: number): void {
    this.#lastBeat ??= now;
  }

  /** Expects no beats until the next `start`. */
  stop(): void {
    this.#lastBeat = undefined;
  }

  /** Returns the time of the wall clock minus all stalls, including a current stall. */
  at(now: number): number {
    return now - this.#stalledMs - this.#lateness(now);
  }

  #lateness(now: number): number {
    return this.#lastBeat === undefined ? 0 : Math.max(0, now - this.#lastBeat - BEAT_MS);
  }
}
