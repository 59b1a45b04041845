import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { registryTopic } from '@relay/events';
import { KeptAdmin } from '@relay/kafka';
import { KafkaPublisher, Publisher, TracedPublisher } from '@relay/publishing';
import { KafkaRegistryLog, RegistryLog } from '@relay/registry';
import { Health, Log, Tracing } from '@relay/telemetry';
import { Kafka } from 'kafkajs';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { built } from './built.js';

const providers = [
  { provide: Publisher, useFactory: publisherOf, inject: [Kafka, Log, Health, Tracing] },
  built(KeptAdmin, Kafka),
  { provide: RegistryLog, useFactory: registryLogOf, inject: [KeptAdmin, Publisher, INGRESS_CONFIG, Log] },
];

/** The log on Kafka, for envelopes and registrations; specs replace it by one in memory. */
@Global()
@Module({ providers, exports: [KeptAdmin, Publisher, RegistryLog] })
export class LogModule implements OnApplicationShutdown {
  constructor(
    @Inject(Publisher) private readonly publisher: Publisher,
    private readonly admin: KeptAdmin,
  ) {}

  /** HTTP is closed by now; accepted envelopes are still being sent. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.publisher.close(), this.admin.close()]);
  }
}

function publisherOf(kafka: Kafka, log: Log, health: Health, tracing: Tracing | undefined): Publisher {
  const publisher = new KafkaPublisher(kafka, log);
  health.ready('kafka', () => (publisher.state === 'connected' ? undefined : publisher.state));
  return tracing === undefined ? publisher : new TracedPublisher(publisher, tracing);
}

function registryLogOf(admin: KeptAdmin, publisher: Publisher, config: IngressConfig, log: Log): RegistryLog {
  const topic = registryTopic(config.KAFKA_TOPIC_PREFIX);
  return new KafkaRegistryLog(admin, publisher, topic, config.KAFKA_CONSUMER_GROUP, log);
}
