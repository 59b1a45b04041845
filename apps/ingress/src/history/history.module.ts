import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Audit } from '@relay/audit';
import { DeadLetterReader, DeadLetterService, DeadLetterEndings } from '@relay/dead-letters';
import { RedisDeliveryHistory } from '@relay/history';
import { Publisher } from '@relay/publishing';
import { connectRedis } from '@relay/redis';
import { BullmqRetryQueue, PendingDeliveries } from '@relay/retry';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { WebhookStore } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { EnvelopeDeliveriesController } from './envelope-deliveries.controller.js';
import { HistoryQuota } from './history-quota.adapter.js';
import { PartnerDeliveries } from './partner-deliveries.js';
import { WebhookDeliveriesController } from './webhook-deliveries.controller.js';

/**
 * BullMQ’s own connection, which waits for Redis. Ownership is checked before, on the other connection, which fails at
 * once.
 */
const QUEUE_REDIS = Symbol('queue connection to Redis');

@Module({
  imports: [WebhooksModule],
  controllers: [WebhookDeliveriesController, EnvelopeDeliveriesController],
  exports: [HistoryQuota],
  providers: [
    HistoryQuota,
    {
      provide: QUEUE_REDIS,
      useFactory: (config: IngressConfig, log: ThrottledLog) =>
        connectRedis(config, 'queue', (error) =>
          log.warn('redis.away', 'Redis does not answer; the ingress reconnects by itself', {
            reason: reasonOf(error),
          }),
        ),
      inject: [INGRESS_CONFIG, ThrottledLog],
    },
    {
      provide: PartnerDeliveries,
      useFactory: (
        webhooks: WebhookStore,
        redis: Redis,
        queueRedis: Redis,
        publisher: Publisher,
        { HISTORY_WINDOW, KAFKA_TOPIC_PREFIX: prefix }: IngressConfig,
      ) => {
        const [box, queue] = [new DeadLetterReader(queueRedis), new BullmqRetryQueue(queueRedis)];
        const ends = new DeadLetterEndings(publisher, prefix);
        // Called for dead letters of this partner’s webhooks only, never for those without a webhook.
        const deskOf = (partnerId: string): DeadLetterService =>
          new DeadLetterService(box, queue, { find: () => ({ partnerId }), matching: () => [] }, ends, Date.now);
        const history = new RedisDeliveryHistory(redis, HISTORY_WINDOW);
        const audit = new Audit(publisher, prefix, Date.now);
        return new PartnerDeliveries(webhooks, history, new PendingDeliveries(redis, queueRedis), deskOf, audit);
      },
      inject: [WebhookStore, Redis, QUEUE_REDIS, Publisher, INGRESS_CONFIG],
    },
  ],
})
export class HistoryModule implements OnApplicationShutdown {
  constructor(@Inject(QUEUE_REDIS) private readonly redis: Redis) {}

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }
}
