import {
  Global,
  Inject,
  Module,
  type DynamicModule,
  type FactoryProvider,
  type OnApplicationShutdown,
  type ValueProvider,
} from '@nestjs/common';
import { tokenProviders } from '@relay/access';
import { Audit } from '@relay/audit';
import { registryTopic } from '@relay/events';
import { PartnerQuota } from '@relay/http';
import { ClientDirectory, ClientStore, type ClientCommand } from '@relay/identity';
import { connectKafka, Kafka, KeptAdmin } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { KafkaPublisher, Publisher, TracedPublisher } from '@relay/publishing';
import { clientNameOf, connectRedis, connectShards, redisFault, Shards } from '@relay/redis';
import { KafkaRegistryLog, RegistryLog, RegistryView } from '@relay/registry';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { Health, Log, openTracing, PinoLog, reasonOf, ThrottledLog, Tracing } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { AccessModule } from './access/access.module.js';
import { PartnerAudit } from './access/partner-routes.js';
import { built } from './built.js';

/** The providers that every module uses: configuration, drivers, keys, log and the client directory. */
@Global()
@Module({})
export class PlatformModule implements OnApplicationShutdown {
  constructor(@Inject(Shards) private readonly shards: Shards) {}

  static register(config: IngressConfig): DynamicModule {
    const providers = [
      ...driversOf(config),
      ...tokenProviders(config),
      built(RegistryView, Redis, RegistryLog, Log),
      {
        provide: ClientStore,
        useFactory: (redis: Redis, registry: RegistryView) =>
          new ClientStore(redis, registry.of<ClientCommand>('client')),
        inject: [Redis, RegistryView],
      },
      built(ClientDirectory, ClientStore, Keyring),
      {
        provide: Audit,
        useFactory: (publisher: Publisher) => new Audit(publisher, config.KAFKA_TOPIC_PREFIX, Date.now),
        inject: [Publisher],
      },
      {
        provide: PartnerQuota,
        useValue: new PartnerQuota({ name: 'partner', points: config.RATE_LIMIT, windowMs: 60_000 }),
      },
    ];
    return {
      module: PlatformModule,
      imports: [AccessModule],
      providers: [PartnerAudit, ...providers],
      exports: [PartnerAudit, ...providers.map(({ provide }) => provide)],
    };
  }

  onApplicationShutdown(): void {
    for (const connection of this.shards.connections) connection.disconnect();
  }
}

function driversOf(config: IngressConfig): (FactoryProvider | ValueProvider)[] {
  const log = new PinoLog('ingress', config.LOG_LEVEL);
  const throttled = new ThrottledLog(log);
  const away = (error: Error, shard?: string): void =>
    throttled.warn('redis.away', 'Redis does not answer; the ingress reconnects by itself', {
      ...(shard === undefined ? {} : { shard }),
      reason: reasonOf(error),
    });
  const redis = connectRedis({ ...config, clientName: clientNameOf('ingress') }, 'command', (error) => away(error));
  const kafka = connectKafka(config, (_level, text, fields) =>
    throttled.warn('kafka.fault', text, { detail: JSON.stringify(fields) }),
  );
  const health = new Health();
  health.ready('redis', () => redisFault(redis));
  return [
    { provide: INGRESS_CONFIG, useValue: config },
    { provide: Log, useValue: log },
    { provide: ThrottledLog, useValue: throttled },
    { provide: Tracing, useFactory: () => openTracing(config, 'partner-relay-ingress', log) },
    { provide: Registry, useValue: new Registry() },
    { provide: Keyring, useValue: Keyring.parse(config.ENCRYPTION_KEYS) },
    { provide: Redis, useValue: redis },
    { provide: Shards, useValue: connectShards(config, 'command', away, redis) },
    { provide: Kafka, useValue: kafka },
    { provide: Health, useValue: health },
  ];
}

const providers = [
  { provide: Publisher, useFactory: publisherOf, inject: [Kafka, Log, Health, Tracing] },
  built(KeptAdmin, Kafka),
  { provide: RegistryLog, useFactory: registryLogOf, inject: [KeptAdmin, Publisher, INGRESS_CONFIG, Log] },
];

/** The log on Kafka, for envelopes and registrations. Specs replace it by a log in memory. */
@Global()
@Module({ providers, exports: [KeptAdmin, Publisher, RegistryLog] })
export class LogModule implements OnApplicationShutdown {
  constructor(
    @Inject(Publisher) private readonly publisher: Publisher,
    private readonly admin: KeptAdmin,
  ) {}

  /** Runs after HTTP is closed. Closing the publisher waits for accepted envelopes that are still being sent. */
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
