import { Inject, Injectable } from '@nestjs/common';
import { operationsRecord } from '@relay/events';
import { Notices } from '@relay/notices';
import type { LogPartition } from '@relay/progress';
import { ThrottledLog } from '@relay/telemetry';
import type { Webhook } from '@relay/webhooks';
import { DeliveryMetrics } from '../metrics/delivery-metrics.js';
import type { EventReporter } from '../reporting/event-reporter.js';
import { WEBHOOKS_REPORTER } from '../reporting/reporters.js';

/** Reports records that parked webhooks and replays lose to the retention, compaction or deletion of a topic. */
@Injectable()
export class RetentionReports {
  constructor(
    @Inject(WEBHOOKS_REPORTER) private readonly operations: Pick<EventReporter, 'report'>,
    @Inject(Notices) private readonly notices: Pick<Notices, 'tell'>,
    private readonly metrics: DeliveryMetrics,
    private readonly log: ThrottledLog,
  ) {}

  /** @param from epoch milliseconds from which on records that wait for the webhook may be gone */
  expiring(webhook: Webhook, at: LogPartition, from: number): void {
    const { id: webhookId, partnerId } = webhook;
    const expiresFrom = new Date(from).toISOString();
    const facts = { webhookId, partnerId, ...at, expiresFrom };
    this.log.warn(
      'webhook.expiring',
      "Records that wait in the log for a parked webhook are near the end of their topic's retention; have the endpoint repaired, or raise retention.ms of the topic",
      facts,
    );
    this.operations.report(webhookId, operationsRecord('webhook.expiring', facts, Date.now()));
    void this.notices.tell('deliveries.expiring', webhook, { expiresFrom });
  }

  /** @param records upper bound of the records that are gone */
  expired({ id: webhookId, partnerId }: Webhook, at: LogPartition, records: number): void {
    this.metrics.expired(records);
    const facts = { webhookId, partnerId, ...at, records };
    this.log.warn(
      'webhook.expired',
      "Records that waited in the log for a parked webhook or a replay are gone: Kafka's retention or compaction deleted them, or their topic was deleted; have the source send them again",
      facts,
    );
    this.operations.report(webhookId, operationsRecord('webhook.expired', facts, Date.now()));
  }
}
