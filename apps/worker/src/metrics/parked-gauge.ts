import { Gauge, type Registry } from 'prom-client';
import type { LogReader } from '../log/log-reader.js';
import type { ExpiryWatch } from '../parking/expiry-watch.js';

/** Deliveries that wait in the partitions of this worker for parked webhooks, and how long the oldest does; read when it is scraped. */
export function registerParkedGauges(
  registry: Registry,
  reader: Pick<LogReader, 'catchUpPartitions'>,
  watch: Pick<ExpiryWatch, 'oldestAgeMs'>,
): void {
  registry.registerMetric(
    new Gauge({
      name: 'relay_parked_deliveries',
      help: 'Records in the partitions of this worker that wait in the log for parked webhooks, at most: take sum().',
      registers: [],
      collect() {
        this.set(reader.catchUpPartitions().reduce((sum, partition) => sum + partition.waiting, 0));
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: 'relay_parked_oldest_age_seconds',
      help: 'Age of the oldest record in the partitions of this worker that waits in the log for a parked webhook, looked at every hour; 0: none. Take max().',
      registers: [],
      collect() {
        this.set(watch.oldestAgeMs(Date.now()) / 1_000);
      },
    }),
  );
}
