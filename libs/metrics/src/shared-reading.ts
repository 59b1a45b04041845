import { answeredWithin } from '@relay/kafka';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';

/**
 * A reading of a store, repeated at most every `freshMs` for any number of callers and given up after `patienceMs`. It is
 * undefined then, so that a gauge has no value rather than an old one.
 */
export class SharedReading<T> {
  #last: { readonly at: number; readonly value: Promise<T | undefined> } | undefined;

  constructor(
    private readonly name: string,
    private readonly ask: () => Promise<T>,
    private readonly log: ThrottledLog,
    private readonly freshMs = 5_000,
    private readonly patienceMs = 3_000,
  ) {}

  read(): Promise<T | undefined> {
    const now = performance.now();
    if (this.#last === undefined || now - this.#last.at >= this.freshMs) {
      this.#last = { at: now, value: this.#ask() };
    }
    return this.#last.value;
  }

  async #ask(): Promise<T | undefined> {
    try {
      return await answeredWithin(this.patienceMs, this.ask(), () => new Error(`no answer in ${this.patienceMs} ms`));
    } catch (error) {
      this.log.warn('metrics.unread', 'A store did not report its figures; their metrics are missing in this scrape', {
        figures: this.name,
        reason: reasonOf(error),
      });
      return undefined;
    }
  }
}
