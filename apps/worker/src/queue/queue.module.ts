import { Module } from '@nestjs/common';
import { DisabledWebhookJobs, JobBodies, UnprovenJobs, WaitingJobs } from '@relay/jobs';
import { oneShard } from '@relay/redis';
import { BullmqRetryQueue, RetryQueue } from '@relay/retry';
import { Redis } from 'ioredis';
import { QUEUE_REDIS } from '../platform/tokens.js';
import type { EventReporter } from '../reporting/event-reporter.js';
import { DEAD_DELIVERIES_REPORTER, DEAD_LETTERS_REPORTER } from '../reporting/reporters.js';
import { ReportingModule } from '../reporting/reporting.module.js';
import { ReportingRetryQueue } from './reporting-retry-queue.js';

const overQueue = { inject: [QUEUE_REDIS] };
const overRedis = { inject: [Redis] };

/** The queue of retries and dead letters in Redis, and what is kept beside its jobs. */
@Module({
  imports: [ReportingModule],
  providers: [
    {
      provide: RetryQueue,
      useFactory: (redis: Redis, deadLetters: EventReporter, deadDeliveries: EventReporter) =>
        new ReportingRetryQueue(new BullmqRetryQueue(oneShard(redis)), deadLetters, deadDeliveries),
      inject: [QUEUE_REDIS, DEAD_LETTERS_REPORTER, DEAD_DELIVERIES_REPORTER],
    },
    {
      provide: DisabledWebhookJobs,
      useFactory: (redis: Redis) => new DisabledWebhookJobs(oneShard(redis)),
      ...overQueue,
    },
    { provide: UnprovenJobs, useFactory: (redis: Redis) => new UnprovenJobs(oneShard(redis)), ...overQueue },
    { provide: WaitingJobs, useFactory: (redis: Redis) => new WaitingJobs(oneShard(redis)), ...overRedis },
    { provide: JobBodies, useFactory: (redis: Redis) => new JobBodies(oneShard(redis)), ...overRedis },
  ],
  exports: [RetryQueue, DisabledWebhookJobs, UnprovenJobs, WaitingJobs, JobBodies],
})
export class QueueModule {}
