import { randomUUID } from 'node:crypto';
import { Module } from '@nestjs/common';
import { topicOf, type EventType } from '@relay/events';
import { rangesWithin, type TimeWindow } from '@relay/kafka';
import { Audit, ReplayDesk } from '@relay/operations';
import { ProblemError } from '@relay/problem';
import { Replays, type ReplayRange } from '@relay/progress';
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
      useFactory: (redis: Redis, kafka: Kafka, publisher: Publisher, config: IngressConfig) =>
        new ReplayDesk({
          replays: new Replays(redis),
          ranges: (type, window) => rangesOf(kafka, topicOf(config.KAFKA_TOPIC_PREFIX, type as EventType), window),
          audit: new Audit(publisher, config.KAFKA_TOPIC_PREFIX, Date.now),
          newId: randomUUID,
          now: Date.now,
        }),
      inject: [Redis, Kafka, Publisher, INGRESS_CONFIG],
    },
  ],
})
export class ReplaysModule {}

/** @throws ProblemError `unavailable` */
const rangesOf = (kafka: Kafka, topic: string, window: TimeWindow): Promise<readonly ReplayRange[]> =>
  rangesWithin(kafka, topic, window).catch((cause: unknown) => {
    throw new ProblemError('unavailable', 'Kafka does not answer at the moment: nothing was ordered.', {
      headers: { 'retry-after': '5' },
      cause,
    });
  });
