import { Module } from '@nestjs/common';
import { DeadLetterEndings, DeadLetterIndex, DeadLetterReader } from '@relay/dead-letters';
import { Publisher } from '@relay/publishing';
import { Shards } from '@relay/redis';
import { Replays } from '@relay/replays';
import { LogModule } from '../log/log.module.js';
import { WORKER_CONFIG } from '../platform/tokens.js';
import { QueueModule } from '../queue/queue.module.js';
import { RegistryModule } from '../registry/registry.module.js';
import { ReportingModule } from '../reporting/reporting.module.js';
import type { WorkerConfig } from '@relay/settings';
import { FailedDeliveries, ReplayedLetters } from './failed-deliveries.js';
import { ReplayOrders, ReplayWatch } from './replay-orders.js';

/**
 * Replays of a period of time. The workers that own the partitions carry out the orders, and make deliveries of dead
 * letters.
 */
@Module({
  imports: [LogModule, QueueModule, RegistryModule, ReportingModule],
  providers: [
    { provide: Replays, useFactory: (shards: Shards) => new Replays(shards.global, shards), inject: [Shards] },
    DeadLetterIndex,
    DeadLetterReader,
    {
      provide: DeadLetterEndings,
      useFactory: (publisher: Publisher, config: WorkerConfig) =>
        new DeadLetterEndings(publisher, config.KAFKA_TOPIC_PREFIX),
      inject: [Publisher, WORKER_CONFIG],
    },
    ReplayedLetters,
    FailedDeliveries,
    ReplayOrders,
    ReplayWatch,
  ],
  exports: [FailedDeliveries, ReplayOrders],
})
export class ReplaysModule {}
