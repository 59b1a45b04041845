import { Inject, Module, type FactoryProvider, type OnApplicationShutdown } from '@nestjs/common';
import { Audit } from '@relay/audit';
import { DeadLetterEndings, DeadLetterReader, DeadLetterService } from '@relay/dead-letters';
import { RedisDeliveryHistory } from '@relay/history';
import { AttemptFinder, EnvelopeFinder, Kafka, KeptAdmin, LogFetcher } from '@relay/kafka';
import { Publisher } from '@relay/publishing';
import { connectShards, Shards } from '@relay/redis';
import { BullmqRetryQueue, PendingDeliveries } from '@relay/retry';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { StoryState } from '@relay/story';
import { WebhookStore } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { built } from '../built.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { BulkRetry, DeliveryRetries } from './delivery-retries.js';
import { HistoryQuota, OwnWebhooks } from './own-webhooks.js';
import { DeliveryLists, PartnerDeliveries } from './delivery-lists.js';
import { PartnerStories } from './partner-stories.js';
import {
  EnvelopeDeliveriesController,
  EnvelopePayloadController,
  EnvelopePayloads,
  PartnerDeliveriesController,
  WebhookHistoryController,
} from './history.controller.js';
import { WebhookStates } from './webhook-states.js';

/** BullMQ’s connections, which wait for Redis. The owner is checked first, over connections that fail at once. */
const QUEUE_SHARDS = Symbol('shards over queue connections');

/** Returns a provider for a finder that reads the log over its own connections. */
const finderOf = <Finder>(
  type: new (fetcher: LogFetcher, admin: KeptAdmin, prefix: string) => Finder,
): FactoryProvider<Finder> => ({
  provide: type,
  useFactory: (kafka: Kafka, admin: KeptAdmin, { KAFKA_TOPIC_PREFIX: prefix }: IngressConfig) =>
    new type(new LogFetcher(kafka), admin, prefix),
  inject: [Kafka, KeptAdmin, INGRESS_CONFIG],
});

@Module({
  imports: [WebhooksModule],
  controllers: [
    WebhookHistoryController,
    PartnerDeliveriesController,
    EnvelopeDeliveriesController,
    EnvelopePayloadController,
  ],
  exports: [HistoryQuota],
  providers: [
    HistoryQuota,
    OwnWebhooks,
    DeliveryLists,
    PartnerDeliveries,
    BulkRetry,
    EnvelopePayloads,
    PartnerStories,
    WebhookStates,
    finderOf(EnvelopeFinder),
    finderOf(AttemptFinder),
    { provide: QUEUE_SHARDS, useFactory: queueShardsOf, inject: [INGRESS_CONFIG, ThrottledLog] },
    built(PendingDeliveries, Shards, QUEUE_SHARDS),
    built(StoryState, Redis, Shards, PendingDeliveries, RedisDeliveryHistory),
    {
      provide: RedisDeliveryHistory,
      useFactory: (shards: Shards, { HISTORY_WINDOW }: IngressConfig) =>
        new RedisDeliveryHistory(shards, HISTORY_WINDOW),
      inject: [Shards, INGRESS_CONFIG],
    },
    {
      provide: DeliveryRetries,
      useFactory: (
        webhooks: WebhookStore,
        jobs: PendingDeliveries,
        queueShards: Shards,
        publisher: Publisher,
        { KAFKA_TOPIC_PREFIX: prefix }: IngressConfig,
      ) => {
        const [box, queue] = [new DeadLetterReader(queueShards), new BullmqRetryQueue(queueShards)];
        const ends = new DeadLetterEndings(publisher, prefix);
        // Called only for dead letters of this partner’s existing webhooks.
        const deskOf = (partnerId: string): DeadLetterService =>
          new DeadLetterService(box, queue, { find: () => ({ partnerId }), matching: () => [] }, ends, Date.now);
        return new DeliveryRetries(webhooks, jobs, deskOf, new Audit(publisher, prefix, Date.now));
      },
      inject: [WebhookStore, PendingDeliveries, QUEUE_SHARDS, Publisher, INGRESS_CONFIG],
    },
  ],
})
export class HistoryModule implements OnApplicationShutdown {
  constructor(
    @Inject(QUEUE_SHARDS) private readonly queueShards: Shards,
    private readonly finder: EnvelopeFinder,
    private readonly attempts: AttemptFinder,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    for (const connection of this.queueShards.connections) connection.disconnect();
    await Promise.all([this.finder.close(), this.attempts.close()]);
  }
}

function queueShardsOf(config: IngressConfig, log: ThrottledLog): Shards {
  const away = (error: Error): void =>
    log.warn('redis.away', 'Redis does not answer; the ingress reconnects by itself', { reason: reasonOf(error) });
  return connectShards(config, 'queue', away);
}
