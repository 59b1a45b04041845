import { QUEUE_SHARDS } from '@relay/jobs';
import { Module } from '@nestjs/common';
import { RedisDeliveryHistory } from '@relay/history';
import { AttemptFinder, EnvelopeFinder, Kafka, KeptAdmin, LogFetcher } from '@relay/kafka';
import { Shards } from '@relay/redis';
import { RetryQueue } from '@relay/retry';
import { ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';
import { DeliveryModule } from '../delivery/delivery.module.js';
import { WORKER_CONFIG } from '../platform/tokens.js';
import { QueueModule } from '../queue/queue.module.js';
import { RegistryModule } from '../registry/registry.module.js';
import type { WorkerConfig } from '@relay/settings';
import { AttemptProcessor, QueuedAdmission } from './attempt.processor.js';
import { DeadLetterExpiry, EnabledWebhooks, MisdatedJobsWatch } from './job-watches.js';
import { LostJobs, MissingJobsWatch } from './missing-jobs-watch.js';
import { MAKE_QUEUE_WORKERS, type Process, QueueConsumer, QueueWorkers } from './queue-workers.adapter.js';
import { QueuedJobs } from './queued-jobs.js';

/**
 * Limits of the search for one lost job. They are low, because each job is searched for separately and thousands may be
 * lost.
 */
const SEARCH = { maxBytes: 4 * 1024 * 1024, answerMs: 10_000 };

/** Makes the attempts of queued deliveries, and maintains their queue. */
@Module({
  imports: [DeliveryModule, QueueModule, RegistryModule],
  providers: [
    {
      provide: MAKE_QUEUE_WORKERS,
      // Queued attempts get half of all slots. Slow and failing endpoints may use half of that half, so as many slots are
      // left for healthy endpoints. First attempts get the other half.
      useFactory:
        (shards: Shards, config: WorkerConfig, log: ThrottledLog) =>
        (process: Process, ended: (data: unknown) => void): QueueWorkers =>
          new QueueWorkers(shards, Math.ceil(config.DELIVERY_CONCURRENCY / 2), process, ended, log),
      inject: [QUEUE_SHARDS, WORKER_CONFIG, ThrottledLog],
    },
    {
      provide: AttemptFinder,
      useFactory: (kafka: Kafka, admin: KeptAdmin, config: WorkerConfig) =>
        new AttemptFinder(new LogFetcher(kafka), admin, config.KAFKA_TOPIC_PREFIX, SEARCH),
      inject: [Kafka, KeptAdmin, WORKER_CONFIG],
    },
    {
      provide: EnvelopeFinder,
      useFactory: (kafka: Kafka, admin: KeptAdmin, config: WorkerConfig) =>
        new EnvelopeFinder(new LogFetcher(kafka), admin, config.KAFKA_TOPIC_PREFIX),
      inject: [Kafka, KeptAdmin, WORKER_CONFIG],
    },
    {
      provide: LostJobs,
      useFactory: (
        shards: Shards,
        { HISTORY_WINDOW }: WorkerConfig,
        webhooks: RedisWebhookView,
        queue: RetryQueue,
        ...[attempts, envelopes]: [AttemptFinder, EnvelopeFinder]
      ) => new LostJobs(webhooks, new RedisDeliveryHistory(shards, HISTORY_WINDOW), queue, attempts, envelopes),
      inject: [Shards, WORKER_CONFIG, RedisWebhookView, RetryQueue, AttemptFinder, EnvelopeFinder],
    },
    MissingJobsWatch,
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
