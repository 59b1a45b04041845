import { Module } from '@nestjs/common';
import { Audit } from '@relay/audit';
import { KeptAdmin } from '@relay/kafka';
import { Publisher } from '@relay/publishing';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { openReplayService, ReplayService } from '@relay/replays';
import { Redis } from 'ioredis';
import { HistoryModule } from '../history/history.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { ReplaysController } from './replays.controller.js';
import { WebhookReplayController } from './webhook-replay.controller.js';

@Module({
  imports: [WebhooksModule, HistoryModule],
  controllers: [WebhookReplayController, ReplaysController],
  providers: [
    {
      provide: ReplayService,
      useFactory: (
        redis: Redis,
        kafka: KeptAdmin,
        publisher: Publisher,
        { KAFKA_TOPIC_PREFIX: prefix }: IngressConfig,
      ) => openReplayService(redis, kafka, new Audit(publisher, prefix, Date.now), prefix),
      inject: [Redis, KeptAdmin, Publisher, INGRESS_CONFIG],
    },
  ],
})
export class ReplaysModule {}
