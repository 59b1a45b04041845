import { Inject, Injectable } from '@nestjs/common';
import { deliveryId } from '@relay/delivery';
import { type DeliveryJob, untilStored } from '@relay/jobs';
import { RetryQueue } from '@relay/retry';
import { ThrottledLog } from '@relay/telemetry';
import type { StoreAgain } from '../log/log-chunk.js';
import { Attempts, type Attempted } from './attempts.js';
import { EndpointReports } from './endpoint-reports.js';
import { jobOf, type StraightDelivery } from './straight-delivery.js';
import { UNOPENED, UnopenedWebhooks } from './unopened-webhooks.js';

/**
 * Makes the first attempt of a straight delivery and stores what follows. Each promise resolves when the delivery is settled:
 * with undefined after a 2xx, otherwise with the step that stores its job or dead letter again. No promise rejects: a step that
 * Redis does not take is repeated.
 */
@Injectable()
export class StraightAttempts {
  constructor(
    @Inject(Attempts) private readonly attempts: Pick<Attempts, 'make'>,
    private readonly reports: EndpointReports,
    @Inject(RetryQueue) private readonly queue: Pick<RetryQueue, 'add' | 'addDeadLetter'>,
    private readonly log: ThrottledLog,
    @Inject(UnopenedWebhooks) private readonly unopened: Pick<UnopenedWebhooks, 'open'>,
  ) {}

  /** Attempts a delivery that has a slot, and gives the slot back. */
  async make(delivery: StraightDelivery): Promise<StoreAgain | undefined> {
    const { webhook, record } = delivery;
    const { envelope } = record;
    const opened = await this.unopened.open(webhook);
    if (typeof opened !== 'object') {
      this.reports.unused(webhook);
      if (opened !== undefined) return this.store({ ...jobOf(delivery), lastFailure: UNOPENED }, opened);
      // Redis is away, or the registration has changed: a job looks the registration up again.
      return this.store(jobOf(delivery), Date.now());
    }
    const attempted = await this.attempts.make(webhook, opened, {
      webhookId: webhook.id,
      envelopeId: envelope.id,
      eventType: envelope.type,
      hash: envelope.contentHash,
      series: delivery.series ?? 0,
      attempts: 0,
      acceptedAt: record.acceptedAt,
      waitedSince: record.waitedSince,
      traceparent: record.traceparent,
      body: envelope.bytes,
    });
    this.reports.ended(webhook, attempted);
    const { disposition } = attempted;
    switch (disposition.kind) {
      case 'delivered':
        return undefined;
      case 'retry':
        return this.store(afterFirst(delivery, attempted), disposition.at);
      case 'dead-letter': {
        const letter = { ...afterFirst(delivery, attempted), reason: disposition.reason, diedAt: Date.now() };
        return this.#confirmed(() => this.queue.addDeadLetter(letter), deliveryId(letter));
      }
      default:
        return disposition satisfies never;
    }
  }

  /** Makes the delivery a job that is due at `at`, in epoch milliseconds. */
  store(job: DeliveryJob, at: number): Promise<StoreAgain> {
    return this.#confirmed(() => this.queue.add({ job, at }), deliveryId(job));
  }

  async #confirmed(add: StoreAgain, jobId: string): Promise<StoreAgain> {
    await untilStored(add, this.log, { jobId });
    return add;
  }
}

const afterFirst = (delivery: StraightDelivery, { tries, failure }: Attempted): DeliveryJob => ({
  ...jobOf(delivery),
  attempts: 1,
  tries: [...tries],
  ...(failure === undefined ? {} : { lastFailure: failure }),
});
