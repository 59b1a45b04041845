import { originOf, type Asker } from '@relay/breaker';
import type { UnprovenOrigins } from './unproven-origins.js';

/** Receives a delivery at the end of its wait. */
export interface TrialOutcomes<T> {
  /** Attempts a delivery that has the turn. */
  run: (item: T) => void;
  /** Handles the delivery like any other, because its origin has answered 2xx. */
  offer: (item: T) => void;
  /** Makes the delivery a job. `at` is its turn, or the time at which it asks again. */
  store: (item: T, at: number, hasTurn: boolean) => void;
}

/**
 * Straight deliveries to origins that are not known to have answered 2xx. The first delivery of an endpoint asks for the origin's
 * turn, and the others wait in memory for as long as a delivery waits for a slot. If the first is answered 2xx, they follow at
 * once, so a new endpoint that works gets its thousandth envelope as soon as its second.
 */
export class TrialQueue<T> {
  /** Deliveries by endpoint. The first one of each asked at most `maxWaitMs` ago. */
  readonly #lines = new Map<string, { readonly item: T; readonly webhook: Asker }[]>();
  #waiting = 0;

  constructor(
    private readonly origins: Pick<UnprovenOrigins, 'enter' | 'isProven' | 'askAgainAt'>,
    private readonly ends: TrialOutcomes<T>,
    private readonly maxWaitMs: number,
  ) {}

  /** Deliveries that wait in memory. */
  get waiting(): number {
    return this.#waiting;
  }

  add(item: T, webhook: Asker): void {
    const { endpoint } = webhook;
    this.#waiting += 1;
    const line = this.#lines.get(endpoint);
    if (line !== undefined) return void line.push({ item, webhook });
    this.#lines.set(endpoint, [{ item, webhook }]);
    setTimeout(() => this.#expire(endpoint), this.maxWaitMs);
    void this.#ask(webhook);
  }

  /** Passes the deliveries that wait for an origin to `offer`, because the origin has answered 2xx. */
  release(origin: string): void {
    for (const endpoint of this.#lines.keys())
      if (originOf(endpoint) === origin) for (const { item } of this.#take(endpoint, Infinity)) this.ends.offer(item);
  }

  async #ask(webhook: Asker): Promise<void> {
    const { endpoint } = webhook;
    const entry = await this.origins.enter(webhook);
    if (this.origins.isProven(endpoint)) return this.release(originOf(endpoint));
    for (const { item } of this.#take(endpoint, 1))
      if (entry.mayGo) this.ends.run(item);
      else this.ends.store(item, entry.at, entry.hasTurn);
  }

  #expire(endpoint: string): void {
    for (const { item, webhook } of this.#take(endpoint, Infinity))
      this.ends.store(item, this.origins.askAgainAt(webhook), false);
    this.#lines.delete(endpoint);
  }

  #take(endpoint: string, count: number): { readonly item: T; readonly webhook: Asker }[] {
    const taken = this.#lines.get(endpoint)?.splice(0, count) ?? [];
    this.#waiting -= taken.length;
    return taken;
  }
}
