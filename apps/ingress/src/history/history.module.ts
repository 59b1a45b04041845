import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Audit } from '@relay/audit';
import { DeadLetterEndings, DeadLetterIndex, DeadLetterReader, DeadLetterService } from '@relay/dead-letters';
import { RedisAttemptCounts, RedisDeliveryHistory } from '@relay/history';
import { JobBodies, WaitingJobs } from '@relay/jobs';
import { AttemptFinder, EnvelopeFinder, KeptAdmin, LogFetcher } from '@relay/kafka';
import { Publisher } from '@relay/publishing';
import { connectShards, Shards } from '@relay/redis';
import { BullmqRetryQueue, PendingDeliveries } from '@relay/retry';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { LoggedAttempts, StoryState } from '@relay/story';
import { WebhookStore } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { Kafka } from 'kafkajs';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { WebhookWaiting } from '../webhooks/webhook-waiting.adapter.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { BulkRetry, DeliveryRetries } from './delivery-retries.js';
import { EnvelopeDeliveriesController, EnvelopePayloadController, EnvelopePayloads } from './envelope.controller.js';
import { HistoryQuota, OwnWebhooks } from './own-webhooks.js';
import { DeliveryLists, PartnerDeliveries } from './delivery-lists.js';
import { PartnerStories } from './partner-stories.js';
import { PartnerDeliveriesController, WebhookDeliveriesController } from './partner-deliveries.controller.js';
import { WebhookStatesController } from './webhook-states.controller.js';
import { WebhookStates } from './webhook-states.js';

/**
 * BullMQ’s own connection, which waits for Redis. Ownership is checked before, on the other connection, which fails at
 * once.
 */
const QUEUE_SHARDS = Symbol('shards over queue connections');

@Module({
  imports: [WebhooksModule],
  controllers: [
    WebhookStatesController,
    WebhookDeliveriesController,
    PartnerDeliveriesController,
    EnvelopeDeliveriesController,
    EnvelopePayloadController,
  ],
  exports: [HistoryQuota],
  providers: [
    HistoryQuota,
    {
      provide: QUEUE_SHARDS,
      useFactory: queueShardsOf,
      inject: [INGRESS_CONFIG, ThrottledLog],
    },
    {
      provide: PendingDeliveries,
      useFactory: (shards: Shards, queueShards: Shards) => new PendingDeliveries(shards, queueShards),
      inject: [Shards, QUEUE_SHARDS],
    },
    {
      provide: RedisDeliveryHistory,
      useFactory: (shards: Shards, { HISTORY_WINDOW }: IngressConfig) =>
        new RedisDeliveryHistory(shards, HISTORY_WINDOW),
      inject: [Shards, INGRESS_CONFIG],
    },
    {
      provide: DeliveryLists,
      useFactory: (history: RedisDeliveryHistory, jobs: PendingDeliveries) => new DeliveryLists(history, jobs),
      inject: [RedisDeliveryHistory, PendingDeliveries],
    },
    {
      provide: OwnWebhooks,
      useFactory: (webhooks: WebhookStore, quota: HistoryQuota) => new OwnWebhooks(webhooks, quota),
      inject: [WebhookStore, HistoryQuota],
    },
    {
      provide: PartnerDeliveries,
      useFactory: (webhooks: WebhookStore, lists: DeliveryLists) => new PartnerDeliveries(webhooks, lists),
      inject: [WebhookStore, DeliveryLists],
    },
    {
      provide: StoryState,
      useFactory: (redis: Redis, shards: Shards, jobs: PendingDeliveries, history: RedisDeliveryHistory) =>
        new StoryState(redis, shards, jobs, history),
      inject: [Redis, Shards, PendingDeliveries, RedisDeliveryHistory],
    },
    {
      provide: AttemptFinder,
      useFactory: (kafka: Kafka, admin: KeptAdmin, { KAFKA_TOPIC_PREFIX: prefix }: IngressConfig) =>
        new AttemptFinder(new LogFetcher(kafka), admin, prefix),
      inject: [Kafka, KeptAdmin, INGRESS_CONFIG],
    },
    {
      provide: PartnerStories,
      useFactory: (
        state: StoryState,
        finder: EnvelopeFinder,
        attempts: AttemptFinder,
        webhooks: WebhookStore,
        log: ThrottledLog,
      ) =>
        new PartnerStories(state, finder, new LoggedAttempts(attempts), webhooks, (part, error) =>
          log.warn('story.incomplete', 'A part of the story of an envelope is away; the answer names it', {
            part,
            reason: reasonOf(error),
          }),
        ),
      inject: [StoryState, EnvelopeFinder, AttemptFinder, WebhookStore, ThrottledLog],
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
        // Called for dead letters of this partner’s webhooks only, never for those without a webhook.
        const deskOf = (partnerId: string): DeadLetterService =>
          new DeadLetterService(box, queue, { find: () => ({ partnerId }), matching: () => [] }, ends, Date.now);
        return new DeliveryRetries(webhooks, jobs, deskOf, new Audit(publisher, prefix, Date.now));
      },
      inject: [WebhookStore, PendingDeliveries, QUEUE_SHARDS, Publisher, INGRESS_CONFIG],
    },
    {
      provide: EnvelopeFinder,
      useFactory: (kafka: Kafka, admin: KeptAdmin, { KAFKA_TOPIC_PREFIX: prefix }: IngressConfig) =>
        new EnvelopeFinder(new LogFetcher(kafka), admin, prefix),
      inject: [Kafka, KeptAdmin, INGRESS_CONFIG],
    },
    {
      provide: EnvelopePayloads,
      useFactory: (
        webhooks: WebhookStore,
        history: RedisDeliveryHistory,
        jobs: PendingDeliveries,
        shards: Shards,
        finder: EnvelopeFinder,
      ) => new EnvelopePayloads(webhooks, history, jobs, new JobBodies(shards), finder),
      inject: [WebhookStore, RedisDeliveryHistory, PendingDeliveries, Shards, EnvelopeFinder],
    },
    {
      provide: BulkRetry,
      useFactory: (lists: DeliveryLists, retries: DeliveryRetries, quota: HistoryQuota) =>
        new BulkRetry(lists, retries, quota, Date.now),
      inject: [DeliveryLists, DeliveryRetries, HistoryQuota],
    },
    {
      provide: WebhookStates,
      useFactory: (shards: Shards, { HISTORY_WINDOW }: IngressConfig) =>
        new WebhookStates(
          new WebhookWaiting(shards),
          new WaitingJobs(shards),
          new DeadLetterIndex(shards),
          new RedisAttemptCounts(shards, HISTORY_WINDOW),
        ),
      inject: [Shards, INGRESS_CONFIG],
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
