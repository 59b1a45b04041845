import { Gauge, type Registry } from 'prom-client';
import type { LogReader } from '../log/log-reader.js';

/** Deliveries that wait in the partitions of this worker for parked webhooks; counted when it is scraped. */
export function tellParked(registry: Registry, reader: Pick<LogReader, 'catchingUp'>): void {
  registry.registerMetric(
    new Gauge({
      name: 'relay_parked_deliveries',
      help: 'Records in the partitions of this worker that wait in the log for parked webhooks, at most: take sum().',
      registers: [],
      collect() {
        this.set(reader.catchingUp().reduce((sum, partition) => sum + partition.waiting, 0));
      },
    }),
  );
}
