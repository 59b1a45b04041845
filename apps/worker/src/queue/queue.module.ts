import { Module } from '@nestjs/common';
import type { DeadLetter } from '@relay/dead-letters';
import { deliveryId } from '@relay/delivery';
import { operationsRecord, withoutAnswer } from '@relay/events';
import {
  DisabledWebhookJobs,
  JobBodies,
  MisdatedJobs,
  QUEUE_SHARDS,
  type QueuedDelivery,
  UnprovenJobs,
  WaitingJobs,
} from '@relay/jobs';
import { Shards } from '@relay/redis';
import { BullmqRetryQueue, RetryQueue } from '@relay/retry';
import { DEAD_DELIVERIES_REPORTER, DEAD_LETTERS_REPORTER, type EventReporter } from '../reporting/event-reporter.js';
import { ReportingModule } from '../reporting/reporting.module.js';

/**
 * A queue that also reports each dead letter: completely on `relay.dead-letters`, and as an event on `relay.operations`. The
 * event has neither the envelope nor the answers of the endpoint, because an answer may repeat the envelope.
 */
export class ReportingRetryQueue extends RetryQueue {
  constructor(
    private readonly queue: RetryQueue,
    private readonly deadLetters: EventReporter,
    private readonly operations: EventReporter,
  ) {
    super();
  }

  add(delivery: QueuedDelivery): Promise<void> {
    return this.queue.add(delivery);
  }

  async addDeadLetter(letter: DeadLetter): Promise<void> {
    await this.queue.addDeadLetter(letter);
    const { body: _body, tries, ...facts } = letter;
    this.deadLetters.report(letter.envelopeId, letter);
    const dead = { deliveryId: deliveryId(letter), ...facts, tries: tries?.map(withoutAnswer) };
    this.operations.report(letter.envelopeId, operationsRecord('delivery.dead', dead, Date.now()));
  }

  existing(ids: readonly string[]): Promise<Set<string>> {
    return this.queue.existing(ids);
  }

  purge(olderThanMs: number): Promise<number> {
    return this.queue.purge(olderThanMs);
  }

  async close(): Promise<void> {
    await Promise.all([this.deadLetters.close(), this.operations.close()]);
    await this.queue.close();
  }
}

/** The queue of retries and dead letters in Redis, and the stores for the data that belongs to its jobs. */
@Module({
  imports: [ReportingModule],
  providers: [
    {
      provide: RetryQueue,
      useFactory: (shards: Shards, deadLetters: EventReporter, deadDeliveries: EventReporter) =>
        new ReportingRetryQueue(new BullmqRetryQueue(shards), deadLetters, deadDeliveries),
      inject: [QUEUE_SHARDS, DEAD_LETTERS_REPORTER, DEAD_DELIVERIES_REPORTER],
    },
    DisabledWebhookJobs,
    UnprovenJobs,
    MisdatedJobs,
    WaitingJobs,
    JobBodies,
  ],
  exports: [RetryQueue, DisabledWebhookJobs, MisdatedJobs, UnprovenJobs, WaitingJobs, JobBodies],
})
export class QueueModule {}
