import { Module } from '@nestjs/common';
import { KeptAdmin } from '@relay/kafka';
import { Audit, openReplayDesk, ReplayDesk } from '@relay/operations';
import { Publisher } from '@relay/publishing';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
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
      provide: ReplayDesk,
      useFactory: (
        redis: Redis,
        kafka: KeptAdmin,
        publisher: Publisher,
        { KAFKA_TOPIC_PREFIX: prefix }: IngressConfig,
      ) => openReplayDesk(redis, kafka, new Audit(publisher, prefix, Date.now), prefix),
      inject: [Redis, KeptAdmin, Publisher, INGRESS_CONFIG],
    },
  ],
})
export class ReplaysModule {}
