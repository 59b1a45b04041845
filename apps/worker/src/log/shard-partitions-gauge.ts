import { Inject, Injectable } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';
import { LogReader } from './log-reader.js';

const STATES = ['lost', 'doubtful'] as const;

/**
 * Gauge of the partitions that this worker does not read, by shard, counted at each scrape. With one shard it has no value,
 * because the worker's health reports the fault.
 */
@Injectable()
export class ShardPartitionsGauge {
  constructor(registry: Registry, @Inject(LogReader) reader: Pick<LogReader, 'countsOf'>) {
    registry.registerMetric(
      new Gauge({
        name: 'relay_shard_partitions',
        help: 'Partitions of this worker whose records of the shard are not read, because their progress is lost or doubtful: take sum().',
        labelNames: ['shard', 'state'],
        registers: [],
        collect() {
          this.reset();
          for (const state of STATES)
            for (const [shard, count] of reader.countsOf(state).entries())
              this.set({ shard: String(shard), state }, count);
        },
      }),
    );
  }
}
