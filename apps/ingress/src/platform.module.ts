import { Global, Inject, Module, type DynamicModule, type OnApplicationShutdown } from '@nestjs/common';
import { tokenProviders } from '@relay/access';
import { Audit } from '@relay/audit';
import { PartnerQuota, type Quota } from '@relay/http';
import { ClientDirectory, ClientStore, RedisClientStore, type ClientCommand } from '@relay/identity';
import { connectKafka } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { Publisher } from '@relay/publishing';
import { clientNameOf, connectRedis, connectShards, redisFault, Shards } from '@relay/redis';
import { RegistryLog, RegistryView } from '@relay/registry';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { Health, Log, openTracing, PinoLog, reasonOf, ThrottledLog, Tracing, type LogFields } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { Kafka } from 'kafkajs';
import { Registry } from 'prom-client';
import { AccessModule } from './access/access.module.js';
import { PartnerAudit } from './access/partner-audit.js';

/** The providers that every module uses: configuration, drivers, keys, log and the client directory. */
@Global()
@Module({})
export class PlatformModule implements OnApplicationShutdown {
  constructor(@Inject(Shards) private readonly shards: Shards) {}

  static register(config: IngressConfig): DynamicModule {
    const providers = [
      { provide: INGRESS_CONFIG, useValue: config },
      { provide: Log, useFactory: () => new PinoLog('ingress', config.LOG_LEVEL) },
      { provide: ThrottledLog, useFactory: (log: Log) => new ThrottledLog(log), inject: [Log] },
      { provide: Tracing, useFactory: (log: Log) => openTracing(config, 'partner-relay-ingress', log), inject: [Log] },
      { provide: Registry, useFactory: () => new Registry() },
      { provide: Keyring, useFactory: () => Keyring.parse(config.ENCRYPTION_KEYS) },
      { provide: Redis, useFactory: (log: ThrottledLog) => redisOf(config, log), inject: [ThrottledLog] },
      {
        provide: Shards,
        useFactory: (log: ThrottledLog, redis: Redis) =>
          connectShards(config, 'command', (error, shard) => away(log, error, { shard }), redis),
        inject: [ThrottledLog, Redis],
      },
      { provide: Kafka, useFactory: (log: ThrottledLog) => kafkaOf(config, log), inject: [ThrottledLog] },
      { provide: Health, useFactory: healthOf, inject: [Redis] },
      ...tokenProviders(config),
      {
        provide: RegistryView,
        useFactory: (redis: Redis, registryLog: RegistryLog, log: Log) => new RegistryView(redis, registryLog, log),
        inject: [Redis, RegistryLog, Log],
      },
      {
        provide: ClientStore,
        useFactory: (redis: Redis, registry: RegistryView) =>
          new RedisClientStore(redis, registry.of<ClientCommand>('client')),
        inject: [Redis, RegistryView],
      },
      {
        provide: ClientDirectory,
        useFactory: (store: ClientStore, keyring: Keyring) => new ClientDirectory(store, keyring),
        inject: [ClientStore, Keyring],
      },
      {
        provide: Audit,
        useFactory: (publisher: Publisher) => new Audit(publisher, config.KAFKA_TOPIC_PREFIX, Date.now),
        inject: [Publisher],
      },
      {
        provide: PartnerAudit,
        useFactory: (audit: Audit, log: ThrottledLog) => new PartnerAudit(audit, log),
        inject: [Audit, ThrottledLog],
      },
      { provide: PartnerQuota, useValue: new PartnerQuota(quotaOf(config)) },
    ];
    return {
      module: PlatformModule,
      imports: [AccessModule],
      providers,
      exports: providers.map(({ provide }) => provide),
    };
  }

  onApplicationShutdown(): void {
    for (const connection of this.shards.connections) connection.disconnect();
  }
}

const redisOf = (config: IngressConfig, log: ThrottledLog): Redis =>
  connectRedis({ ...config, clientName: clientNameOf('ingress') }, 'command', (error) => away(log, error, {}));

const away = (log: ThrottledLog, error: Error, where: LogFields): void =>
  log.warn('redis.away', 'Redis does not answer; the ingress reconnects by itself', {
    ...where,
    reason: reasonOf(error),
  });

const kafkaOf = (config: IngressConfig, log: ThrottledLog): Kafka =>
  connectKafka(config, (_level, text, fields) => log.warn('kafka.fault', text, { detail: JSON.stringify(fields) }));

function healthOf(redis: Redis): Health {
  const health = new Health();
  health.ready('redis', () => redisFault(redis));
  return health;
}

const quotaOf = (config: IngressConfig): Quota => ({ name: 'partner', points: config.RATE_LIMIT, windowMs: 60_000 });
