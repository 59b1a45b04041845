import { Module } from '@nestjs/common';
import { EventTypeStore, EventTypesView } from '@relay/event-types';
import { registryTopic } from '@relay/events';
import { KeptAdmin } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { Publisher } from '@relay/publishing';
import { KafkaRegistryLog, RegistryCompaction, RegistryLog, RegistryView } from '@relay/registry';
import { Log } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { WORKER_CONFIG } from '../platform/tokens.js';
import type { WorkerConfig } from '@relay/settings';
import { RegistryKeeper } from './registry-keeper.js';

/** The log of registrations, its view in Redis, the webhooks in memory, and the snapshots that keep the log short. */
@Module({
  providers: [
    KeptAdmin,
    {
      provide: RegistryLog,
      useFactory: (admin: KeptAdmin, publisher: Publisher, config: WorkerConfig, log: Log) => {
        const topic = registryTopic(config.KAFKA_TOPIC_PREFIX);
        return new KafkaRegistryLog(admin, publisher, topic, config.KAFKA_CONSUMER_GROUP, log);
      },
      inject: [KeptAdmin, Publisher, WORKER_CONFIG, Log],
    },
    RegistryView,
    {
      provide: RedisWebhookView,
      useFactory: (redis: Redis, registry: RegistryView, keyring: Keyring) =>
        new RedisWebhookView(redis, registry.of('webhook'), keyring),
      inject: [Redis, RegistryView, Keyring],
    },
    {
      provide: EventTypesView,
      useFactory: (redis: Redis, registry: RegistryView, config: WorkerConfig) =>
        new EventTypesView(new EventTypeStore(redis, registry.of('eventType')), config.BUILT_IN_EVENT_TYPES),
      inject: [Redis, RegistryView, WORKER_CONFIG],
    },
    RegistryCompaction,
    RegistryKeeper,
  ],
  exports: [EventTypesView, KeptAdmin, RegistryView, RedisWebhookView],
})
export class RegistryModule {}
