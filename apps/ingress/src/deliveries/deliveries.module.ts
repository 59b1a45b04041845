import { Inject, Module, type OnApplicationShutdown, type Provider } from '@nestjs/common';
import { RedisSeenStore, SeenStore } from '@relay/dedupe';
import { KafkaPublisher, Publisher } from '@relay/publishing';
import { Health, Log, ThrottledLog } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { Kafka } from 'kafkajs';
import { Registry } from 'prom-client';
import { INGRESS_CONFIG, type IngressConfig } from '../ingress.config.js';
import { Acceptance } from './acceptance.js';
import { DeliveriesController } from './deliveries.controller.js';
import { IngressMetrics } from './ingress-metrics.js';
import { RememberedIds } from './remembered-ids.js';

/** Everything but the publisher, which a spec replaces by one in memory. */
export const acceptanceProviders: Provider[] = [
  {
    provide: SeenStore,
    useFactory: (redis: Redis, config: IngressConfig) => new RedisSeenStore(redis, config.DEDUPE_WINDOW),
    inject: [Redis, INGRESS_CONFIG],
  },
  {
    provide: RememberedIds,
    useFactory: (store: SeenStore, log: ThrottledLog) => new RememberedIds(store, log),
    inject: [SeenStore, ThrottledLog],
  },
  { provide: IngressMetrics, useFactory: (registry: Registry) => new IngressMetrics(registry), inject: [Registry] },
  {
    provide: Acceptance,
    useFactory: acceptanceOf,
    inject: [Publisher, RememberedIds, IngressMetrics, INGRESS_CONFIG],
  },
];

/** Envelopes over HTTP into the log. */
@Module({
  controllers: [DeliveriesController],
  providers: [{ provide: Publisher, useFactory: publisherOf, inject: [Kafka, Log, Health] }, ...acceptanceProviders],
})
export class DeliveriesModule implements OnApplicationShutdown {
  constructor(@Inject(Publisher) private readonly publisher: Publisher) {}

  /** HTTP is closed by now: what was accepted on it is on its way. */
  async onApplicationShutdown(): Promise<void> {
    await this.publisher.close();
  }
}

function publisherOf(kafka: Kafka, log: Log, health: Health): Publisher {
  const publisher = new KafkaPublisher(kafka, log);
  health.ready('kafka', () => (publisher.state === 'connected' ? undefined : publisher.state));
  return publisher;
}

function acceptanceOf(
  publisher: Publisher,
  remembered: RememberedIds,
  metrics: IngressMetrics,
  config: IngressConfig,
): Acceptance {
  const settings = { topicPrefix: config.KAFKA_TOPIC_PREFIX, ceSource: config.PUBLIC_URL };
  return new Acceptance(publisher, remembered, settings, Date.now, () => metrics.timePublish());
}
