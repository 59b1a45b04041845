import { Inject, Injectable } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';
import { LogReader } from '../log/log-reader.js';
import { ExpiryWatch } from './expiry-watch.js';

/** Gauges of the backlogs of parked webhooks in the partitions of this worker, read at each scrape. */
@Injectable()
export class ParkedGauges {
  constructor(
    registry: Registry,
    @Inject(LogReader) reader: Pick<LogReader, 'catchUpPartitions'>,
    @Inject(ExpiryWatch) watch: Pick<ExpiryWatch, 'oldestAgeMs'>,
  ) {
    registry.registerMetric(
      new Gauge({
        name: 'relay_parked_deliveries',
        help: 'Records in the partitions of this worker that wait in the log for parked webhooks, at most: take sum().',
        registers: [],
        collect() {
          this.set(Math.round(reader.catchUpPartitions().reduce((sum, partition) => sum + partition.waiting, 0)));
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
}
