import { answeredWithin } from '@relay/kafka';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import { Gauge, type Registry } from 'prom-client';

/** Labels and value of one line of a scrape. */
export type Sample = readonly [Readonly<Record<string, string>>, number];

const FRESH_MS = 5_000;
const PATIENCE_MS = 3_000;

/**
 * A reading of a store for its gauges, repeated at most every 5 s for any number of scrapes and given up after 3 s. A gauge then has
 * no value rather than an old one.
 */
export class StoreReading<T> {
  #last: { readonly at: number; readonly value: Promise<T | undefined> } | undefined;

  constructor(
    private readonly registry: Registry,
    private readonly log: ThrottledLog,
    private readonly name: string,
    private readonly ask: () => Promise<T>,
  ) {}

  /** Registers a gauge that is read when it is scraped. */
  gauge(name: string, help: string, labelNames: string[], samplesOf: (value: T) => readonly Sample[]): this {
    const read = (): Promise<T | undefined> => this.#read();
    this.registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames,
        registers: [],
        async collect() {
          const value = await read();
          this.reset();
          if (labelNames.length === 0) this.remove(); // reset() writes 0 for a gauge without labels
          for (const [labels, count] of value === undefined ? [] : samplesOf(value)) this.set(labels, count);
        },
      }),
    );
    return this;
  }

  #read(): Promise<T | undefined> {
    const now = performance.now();
    if (this.#last === undefined || now - this.#last.at >= FRESH_MS) this.#last = { at: now, value: this.#ask() };
    return this.#last.value;
  }

  async #ask(): Promise<T | undefined> {
    try {
      return await answeredWithin(PATIENCE_MS, this.ask(), () => new Error(`no answer in ${PATIENCE_MS} ms`));
    } catch (error) {
      this.log.warn('metrics.unread', 'A store did not report its figures; their metrics are missing in this scrape', {
        figures: this.name,
        reason: reasonOf(error),
      });
      return undefined;
    }
  }
}
