import { Module } from '@nestjs/common';
import type { Shards } from '@relay/redis';
import { ThrottledLog } from '@relay/telemetry';
import { DeliveryModule } from '../delivery/delivery.module.js';
import { QUEUE_SHARDS, WORKER_CONFIG } from '../platform/tokens.js';
import { QueueModule } from '../queue/queue.module.js';
import { RegistryModule } from '../registry/registry.module.js';
import type { WorkerConfig } from '@relay/settings';
import { AttemptProcessor } from './attempt.processor.js';
import { DeadLetterExpiry } from './dead-letter-expiry.js';
import { EnabledWebhooks } from './enabled-webhooks.js';
import { MisdatedJobsWatch } from './misdated-jobs-watch.js';
import { QueueConsumer } from './queue-consumer.js';
import { MAKE_QUEUE_WORKERS, QueueWorkers, type Process } from './queue-workers.adapter.js';
import { QueuedAdmission } from './queued-admission.js';
import { QueuedJobs } from './queued-jobs.js';

/** Attempts of queued deliveries, and the upkeep of their queue. */
@Module({
  imports: [DeliveryModule, QueueModule, RegistryModule],
  providers: [
    {
      provide: MAKE_QUEUE_WORKERS,
      // Half of all slots is twice what slow and failing endpoints may hold, so healthy ones have as much; first
      // attempts get the rest.
      useFactory:
        (shards: Shards, config: WorkerConfig, log: ThrottledLog) =>
        (process: Process, ended: (data: unknown) => void): QueueWorkers =>
          new QueueWorkers(shards, Math.ceil(config.DELIVERY_CONCURRENCY / 2), process, ended, log),
      inject: [QUEUE_SHARDS, WORKER_CONFIG, ThrottledLog],
    },
    QueuedAdmission,
    QueuedJobs,
    AttemptProcessor,
    QueueConsumer,
    EnabledWebhooks,
    DeadLetterExpiry,
    MisdatedJobsWatch,
  ],
})
export class QueuedAttemptsModule {}
