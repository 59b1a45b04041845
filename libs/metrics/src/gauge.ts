import { Gauge, type Registry } from 'prom-client';
import type { SharedReading } from './shared-reading.js';

/** Labels and value of one line of a scrape. */
export type Sample = readonly [Readonly<Record<string, string>>, number];

/** Registers a gauge that is read when it is scraped, and has no value while its reading fails. */
export function registerGauge<T>(
  registry: Registry,
  { name, help, labelNames = [] }: { name: string; help: string; labelNames?: string[] },
  reading: SharedReading<T>,
  samplesOf: (value: T) => readonly Sample[],
): void {
  registry.registerMetric(
    new Gauge({
      name,
      help,
      labelNames,
      registers: [],
      async collect() {
        const value = await reading.read();
        this.reset();
        if (labelNames.length === 0) this.remove(); // reset() writes 0 for a gauge without labels
        for (const [labels, count] of value === undefined ? [] : samplesOf(value)) this.set(labels, count);
      },
    }),
  );
}
