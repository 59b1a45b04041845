import { Module } from '@nestjs/common';
import { DisabledWebhookJobs, JobBodies, MisdatedJobs, UnprovenJobs, WaitingJobs } from '@relay/jobs';
import { Shards } from '@relay/redis';
import { BullmqRetryQueue, RetryQueue } from '@relay/retry';
import { QUEUE_SHARDS } from '../platform/tokens.js';
import type { EventReporter } from '../reporting/event-reporter.js';
import { DEAD_DELIVERIES_REPORTER, DEAD_LETTERS_REPORTER } from '../reporting/reporters.js';
import { ReportingModule } from '../reporting/reporting.module.js';
import { ReportingRetryQueue } from './reporting-retry-queue.js';

const overQueue = { inject: [QUEUE_SHARDS] };
const overShards = { inject: [Shards] };

/** The queue of retries and dead letters in Redis, and the data beside its jobs. */
@Module({
  imports: [ReportingModule],
  providers: [
    {
      provide: RetryQueue,
      useFactory: (shards: Shards, deadLetters: EventReporter, deadDeliveries: EventReporter) =>
        new ReportingRetryQueue(new BullmqRetryQueue(shards), deadLetters, deadDeliveries),
      inject: [QUEUE_SHARDS, DEAD_LETTERS_REPORTER, DEAD_DELIVERIES_REPORTER],
    },
    {
      provide: DisabledWebhookJobs,
      useFactory: (shards: Shards) => new DisabledWebhookJobs(shards),
      ...overQueue,
    },
    { provide: UnprovenJobs, useFactory: (shards: Shards) => new UnprovenJobs(shards), ...overQueue },
    { provide: MisdatedJobs, useFactory: (shards: Shards) => new MisdatedJobs(shards), ...overQueue },
    { provide: WaitingJobs, useFactory: (shards: Shards) => new WaitingJobs(shards), ...overShards },
    { provide: JobBodies, useFactory: (shards: Shards) => new JobBodies(shards), ...overShards },
  ],
  exports: [RetryQueue, DisabledWebhookJobs, MisdatedJobs, UnprovenJobs, WaitingJobs, JobBodies],
})
export class QueueModule {}
