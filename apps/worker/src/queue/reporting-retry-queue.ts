import type { DeadLetter } from '@relay/dead-letters';
import { deliveryId } from '@relay/delivery';
import { operationsRecord, withoutAnswer } from '@relay/events';
import type { QueuedDelivery } from '@relay/jobs';
import { RetryQueue } from '@relay/retry';
import type { EventReporter } from '../reporting/event-reporter.js';

/**
 * The queue, which also reports each dead letter: whole on `relay.dead-letters`, and as an event on `relay.operations`. The event
 * has neither the envelope nor an answer, because an answer may repeat the envelope.
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
