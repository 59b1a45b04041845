import { Module } from '@nestjs/common';
import { Audit } from '@relay/audit';
import { KeptAdmin } from '@relay/kafka';
import { Shards } from '@relay/redis';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { openReplayService, ReplayService } from '@relay/replays';
import { HistoryModule } from '../history/history.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { ReplaysController } from './replays.controller.js';

@Module({
  imports: [WebhooksModule, HistoryModule],
  controllers: [ReplaysController],
  providers: [
    {
      provide: ReplayService,
      useFactory: (shards: Shards, kafka: KeptAdmin, audit: Audit, { KAFKA_TOPIC_PREFIX: prefix }: IngressConfig) =>
        openReplayService(shards, kafka, audit, prefix),
      inject: [Shards, KeptAdmin, Audit, INGRESS_CONFIG],
    },
  ],
})
export class ReplaysModule {}
