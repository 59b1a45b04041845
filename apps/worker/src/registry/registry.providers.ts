import type { Provider } from '@nestjs/common';
import { registryTopic } from '@relay/events';
import { KeptAdmin } from '@relay/kafka';
import { Publisher } from '@relay/publishing';
import { KafkaRegistryLog, RegistryCompaction, RegistryLog, RegistryView } from '@relay/registry';
import { Log } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { Kafka } from 'kafkajs';
import type { WorkerConfig } from '@relay/settings';
import { RegistryKeeper } from './registry-keeper.js';

/** The registry's log, its view in Redis, and what keeps the log short. */
export const registryProviders = (config: WorkerConfig): Provider[] => [
  {
    provide: RegistryLog,
    useFactory: (kafka: Kafka, publisher: Publisher) => {
      const topic = registryTopic(config.KAFKA_TOPIC_PREFIX);
      return new KafkaRegistryLog(kafka, new KeptAdmin(kafka), publisher, topic, config.KAFKA_CONSUMER_GROUP);
    },
    inject: [Kafka, Publisher],
  },
  {
    provide: RegistryView,
    useFactory: (client: Redis, registryLog: RegistryLog, log: Log) => new RegistryView(client, registryLog, log),
    inject: [Redis, RegistryLog, Log],
  },
  {
    provide: RegistryKeeper,
    useFactory: (client: Redis, registryLog: RegistryLog, registry: RegistryView, log: Log) => {
      const compaction = new RegistryCompaction(client, registryLog, registry, log);
      return new RegistryKeeper({
        endStuckSnapshot: () => registry.endStuckSnapshot(),
        isDue: () => compaction.isDue(config.REGISTRY_SNAPSHOT_AFTER),
        compact: () => compaction.compact(),
        free: () => compaction.free(),
        now: () => performance.now(),
        log,
      });
    },
    inject: [Redis, RegistryLog, RegistryView, Log],
  },
];
