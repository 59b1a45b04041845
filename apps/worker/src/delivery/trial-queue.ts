import { originOf } from '@relay/breaker';
import type { Admission, UnprovenOrigins } from './unproven-origins.js';

interface Waiting<T> {
  readonly item: T;
  readonly since: number;
}

interface Line<T> {
  readonly items: Waiting<T>[];
  /** Whether it asks for a turn or has one. */
  isBusy: boolean;
  /** When it was promised a turn. */
  promisedAt: number;
}

/** What happens to a waiting delivery. */
export interface TrialOutcomes<T> {
  /** It has the turn. Resolves when its attempt has ended, or none was made. */
  run: (item: T, turn: Admission) => Promise<void>;
  /** Its origin has answered 2xx, so it is a delivery like any other. */
  offer: (item: T) => void;
  /** It waited too long and becomes a job. */
  store: (item: T, at: number) => void;
}

/**
 * Straight deliveries to origins that are not known to have answered 2xx. The first of an endpoint asks for the
 * origin's turn, and the others wait in memory for as long as a delivery waits for a slot. If the first is answered
 * 2xx they follow at once, so a new endpoint that works gets its thousandth envelope as soon as its second.
 */
export class TrialQueue<T> {
  readonly #lines = new Map<string, Line<T>>();
  #waiting = 0;
  #expiry: NodeJS.Timeout | undefined;

  constructor(
    private readonly origins: Pick<UnprovenOrigins, 'enter' | 'ended' | 'reserve'>,
    private readonly ends: TrialOutcomes<T>,
    private readonly maxWaitMs: number,
  ) {}

  /** Deliveries that wait in memory. */
  get waiting(): number {
    return this.#waiting;
  }

  add(item: T, endpoint: string): void {
    let line = this.#lines.get(endpoint);
    if (line === undefined) this.#lines.set(endpoint, (line = { items: [], isBusy: false, promisedAt: 0 }));
    line.items.push({ item, since: performance.now() });
    this.#waiting += 1;
    this.#watch();
    void this.#ask(endpoint, line);
  }

  /** The origin has answered 2xx. */
  release(origin: string): void {
    for (const [endpoint, line] of this.#lines)
      if (originOf(endpoint) === origin) for (const item of this.#take(line, line.items.length)) this.ends.offer(item);
  }

  async #ask(endpoint: string, line: Line<T>): Promise<void> {
    if (line.isBusy || performance.now() < line.promisedAt) return;
    line.isBusy = true;
    try {
      while (line.items.length > 0) {
        const admission = await this.origins.enter(endpoint);
        if (admission.kind === 'wait') {
          this.#askLater(endpoint, line, admission.ms);
          return;
        }
        if (admission.kind === 'free') {
          this.release(originOf(endpoint));
          return;
        }
        const [item] = this.#take(line, 1);
        // All deliveries have become jobs meanwhile, or were released.
        if (item === undefined) await this.origins.ended(endpoint, admission, 'unused');
        else await this.ends.run(item, admission);
      }
    } finally {
      line.isBusy = false;
      // The line may have been forgotten meanwhile and replaced by another one.
      if (line.items.length === 0 && this.#lines.get(endpoint) === line) this.#lines.delete(endpoint);
    }
  }

  /** Asks again, if the turn comes before the first delivery becomes a job. */
  #askLater(endpoint: string, line: Line<T>, ms: number): void {
    line.promisedAt = performance.now() + ms;
    const [first] = line.items;
    if (first === undefined || performance.now() + ms > first.since + this.maxWaitMs) return;
    setTimeout(() => void this.#ask(endpoint, line), Math.ceil(ms) + 1);
  }

  #take(line: Line<T>, count: number): T[] {
    const taken = line.items.splice(0, count);
    this.#waiting -= taken.length;
    return taken.map(({ item }) => item);
  }

  /** Makes jobs of deliveries that have waited too long. */
  #watch(): void {
    if (this.#expiry !== undefined || this.#waiting === 0) return;
    const first = Math.min(...[...this.#lines.values()].map(({ items }) => items[0]?.since ?? Infinity));
    this.#expiry = setTimeout(
      () => {
        this.#expiry = undefined;
        this.#expire(performance.now() - this.maxWaitMs);
        this.#watch();
      },
      Math.max(5, first + this.maxWaitMs - performance.now()),
    );
  }

  #expire(since: number): void {
    for (const [endpoint, line] of this.#lines) {
      const expired = line.items.findIndex((each) => each.since > since);
      for (const item of this.#take(line, expired === -1 ? line.items.length : expired))
        this.ends.store(item, this.origins.reserve(endpoint));
      if (line.items.length === 0 && !line.isBusy) this.#lines.delete(endpoint);
    }
  }
}
