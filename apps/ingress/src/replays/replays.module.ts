import { Module } from '@nestjs/common';
import { Audit, openReplayDesk, ReplayDesk } from '@relay/operations';
import { Publisher } from '@relay/publishing';
import { Redis } from 'ioredis';
import { Kafka } from 'kafkajs';
import { INGRESS_CONFIG, type IngressConfig } from '../ingress.config.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { ReplaysController } from './replays.controller.js';
import { WebhookReplayController } from './webhook-replay.controller.js';

@Module({
  imports: [WebhooksModule],
  controllers: [WebhookReplayController, ReplaysController],
  providers: [
    {
      provide: ReplayDesk,
      useFactory: (redis: Redis, kafka: Kafka, publisher: Publisher, { KAFKA_TOPIC_PREFIX: prefix }: IngressConfig) =>
        openReplayDesk(redis, kafka, new Audit(publisher, prefix, Date.now), prefix),
      inject: [Redis, Kafka, Publisher, INGRESS_CONFIG],
    },
  ],
})
export class ReplaysModule {}
