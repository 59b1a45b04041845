import { randomBytes } from 'node:crypto';
import {
  Global,
  Module,
  type Abstract,
  type DynamicModule,
  type FactoryProvider,
  type OnApplicationShutdown,
  type ValueProvider,
} from '@nestjs/common';
import { SessionStore, tokenProviders } from '@relay/access';
import { RedisRepeatCounts, RedisSeenStore, RepeatCounter } from '@relay/dedupe';
import { EventTypeStore, EventTypesView } from '@relay/event-types';
import { registryTopic } from '@relay/events';
import { RedisDeliveryHistory } from '@relay/history';
import { PartnerQuota } from '@relay/http';
import { ClientDirectory, ClientStore, type ClientCommand } from '@relay/identity';
import { AttemptFinder, connectKafka, EnvelopeFinder, Kafka, KeptAdmin, LogFetcher } from '@relay/kafka';
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
import { RememberedIds } from './deliveries/acceptance.js';

/** Injection token of a constructor parameter: its class, or a symbol. */
type TokenOf<Each> = symbol | Abstract<Each>;

/**
 * Returns a Nest provider for a class whose constructor has no Nest decorators.
 * @param inject the injection tokens of the constructor's arguments, in their order
 */
export const built = <Args extends unknown[], Made>(
  type: new (...args: Args) => Made,
  ...inject: { [Index in keyof Args]: TokenOf<Args[Index]> }
): FactoryProvider<Made> => ({ provide: type, useFactory: (...args: Args) => new type(...args), inject });

/** The providers that every module uses: configuration, connections, stores over them, keys, log and the client directory. */
@Global()
@Module({})
export class PlatformModule implements OnApplicationShutdown {
  constructor(private readonly shards: Shards) {}

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
        provide: EventTypeStore,
        useFactory: (redis: Redis, registry: RegistryView) => new EventTypeStore(redis, registry.of('eventType')),
        inject: [Redis, RegistryView],
      },
      {
        provide: EventTypesView,
        useFactory: (store: EventTypeStore) => new EventTypesView(store, config.BUILT_IN_EVENT_TYPES),
        inject: [EventTypeStore],
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
  const shards = connectShards(config, 'command', away, redis);
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
    { provide: Shards, useValue: shards },
    { provide: Kafka, useValue: kafka },
    { provide: Health, useValue: health },
    ...storesOf(config, shards, throttled),
    ...logReadersOf(config, kafka),
  ];
}

/** Most sessions of a user. A further one ends the session with the earliest expiry. */
const SESSIONS_OF_USER = 10;

/** Returns what features keep in Redis. */
function storesOf(config: IngressConfig, shards: Shards, log: ThrottledLog): ValueProvider[] {
  const seen = new RedisSeenStore(shards, config.DEDUPE_WINDOW);
  const repeats = new RepeatCounter(new RedisRepeatCounts(shards, config.DEDUPE_WINDOW));
  const sessions = { ofPartner: config.SESSIONS_PER_PARTNER, ofUser: SESSIONS_OF_USER };
  return [
    { provide: RememberedIds, useValue: new RememberedIds(seen, log, repeats) },
    { provide: RedisDeliveryHistory, useValue: new RedisDeliveryHistory(shards, config.HISTORY_WINDOW) },
    { provide: SessionStore, useValue: new SessionStore(shards.global, sessions, randomBytes, Date.now) },
  ];
}

/** Returns the readers of the log, each over connections of its own. The first use of a connection opens it. */
function logReadersOf({ KAFKA_TOPIC_PREFIX: prefix }: IngressConfig, kafka: Kafka): ValueProvider[] {
  const admin = new KeptAdmin(kafka);
  return [
    { provide: KeptAdmin, useValue: admin },
    { provide: LogFetcher, useValue: new LogFetcher(kafka) },
    { provide: EnvelopeFinder, useValue: new EnvelopeFinder(new LogFetcher(kafka), admin, prefix) },
    { provide: AttemptFinder, useValue: new AttemptFinder(new LogFetcher(kafka), admin, prefix) },
  ];
}

const providers = [
  { provide: Publisher, useFactory: publisherOf, inject: [Kafka, Log, Health, Tracing] },
  { provide: RegistryLog, useFactory: registryLogOf, inject: [KeptAdmin, Publisher, INGRESS_CONFIG, Log] },
];

/** The log on Kafka, for envelopes and registrations. Specs replace it by a log in memory. */
@Global()
@Module({ providers, exports: [Publisher, RegistryLog] })
export class LogModule implements OnApplicationShutdown {
  constructor(
    private readonly publisher: Publisher,
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
