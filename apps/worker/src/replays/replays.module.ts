import { Module } from '@nestjs/common';
import { DeadLetterBox, LetterEnds } from '@relay/operations';
import { Replays } from '@relay/progress';
import { Publisher } from '@relay/publishing';
import { LetterIndex } from '@relay/retry';
import { Redis } from 'ioredis';
import { LogModule } from '../log/log.module.js';
import { QUEUE_REDIS, WORKER_CONFIG } from '../platform/tokens.js';
import { QueueModule } from '../queue/queue.module.js';
import { RegistryModule } from '../registry/registry.module.js';
import type { WorkerConfig } from '../worker.config.js';
import { FailedDeliveries } from './failed-deliveries.js';
import { ReplayOrders } from './replay-orders.js';
import { ReplayedLetters } from './replayed-letters.js';

/** Replays by time: orders taken up by the owners of the partitions, and dead letters that become deliveries again. */
@Module({
  imports: [LogModule, QueueModule, RegistryModule],
  providers: [
    { provide: Replays, useFactory: (redis: Redis) => new Replays(redis), inject: [Redis] },
    { provide: LetterIndex, useFactory: (redis: Redis) => new LetterIndex(redis), inject: [Redis] },
    { provide: DeadLetterBox, useFactory: (redis: Redis) => new DeadLetterBox(redis), inject: [QUEUE_REDIS] },
    {
      provide: LetterEnds,
      useFactory: (publisher: Publisher, config: WorkerConfig) => new LetterEnds(publisher, config.KAFKA_TOPIC_PREFIX),
      inject: [Publisher, WORKER_CONFIG],
    },
    ReplayedLetters,
    FailedDeliveries,
    ReplayOrders,
  ],
  exports: [FailedDeliveries, ReplayOrders],
})
export class ReplaysModule {}
