import { Module } from '@nestjs/common';
import { Notices } from '@relay/notices';
import { Breakers } from '../delivery/breakers.js';
import { DeliveryModule } from '../delivery/delivery.module.js';
import { UnopenedWebhooks } from '../delivery/attempts.js';
import { LogModule } from '../log/log.module.js';
import { MetricsModule } from '../metrics/metrics.module.js';
import { WORKER_CONFIG } from '../platform/tokens.js';
import { QueueModule } from '../queue/queue.module.js';
import { RegistryModule } from '../registry/registry.module.js';
import { ReportingModule } from '../reporting/reporting.module.js';
import type { WorkerConfig } from '@relay/settings';
import { ExpiryWatch, ParkedGauges, RetentionReports } from './expiry-watch.js';
import { ParkingRule, WaitingCounts } from './parking-rule.js';

/** Decides when a webhook is parked, and reports records that wait so long for it that Kafka deletes them. */
@Module({
  imports: [DeliveryModule, LogModule, MetricsModule, QueueModule, RegistryModule, ReportingModule],
  providers: [
    WaitingCounts,
    {
      provide: ParkingRule,
      useFactory: (
        counts: WaitingCounts,
        breakers: Breakers,
        unopened: UnopenedWebhooks,
        notices: Notices,
        config: WorkerConfig,
      ) =>
        new ParkingRule(
          counts,
          { perWebhook: config.WEBHOOK_QUEUE_LIMIT, total: config.QUEUE_LIMIT },
          (webhook) => breakers.isBarred(webhook, Date.now()) || unopened.has(webhook),
          (webhook, waiting) => notices.line('webhook.parked', webhook, { waiting }),
        ),
      inject: [WaitingCounts, Breakers, UnopenedWebhooks, Notices, WORKER_CONFIG],
    },
    RetentionReports,
    ExpiryWatch,
    ParkedGauges,
  ],
  exports: [ParkingRule, RetentionReports, WaitingCounts],
})
export class ParkingModule {}
