import { QUEUE_SHARDS } from '@relay/jobs';
import { Global, Inject, Module, type DynamicModule, type OnApplicationShutdown } from '@nestjs/common';
import { connectKafka, Kafka } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { registerMissingKeys } from '@relay/metrics';
import { KafkaPublisher, Publisher } from '@relay/publishing';
import { clientNameOf, connectRedis, connectShards, Shards, type RedisUse } from '@relay/redis';
import { Health, Log, openTracing, PinoLog, reasonOf, ThrottledLog, Tracing, type LogFields } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import type { WorkerConfig } from '@relay/settings';
import { StoreConditions } from './store-conditions.adapter.js';
import { FATAL, KAFKA_ADMIN, QUEUE_REDIS, WORKER_CONFIG } from './tokens.js';

const drivers = [
  {
    provide: Log,
    useFactory: (config: WorkerConfig) => new PinoLog('worker', config.LOG_LEVEL),
    inject: [WORKER_CONFIG],
  },
  { provide: ThrottledLog, useFactory: (log: Log) => new ThrottledLog(log), inject: [Log] },
  { provide: Registry, useClass: Registry },
  { provide: Health, useClass: Health },
  {
    provide: Keyring,
    useFactory: (config: WorkerConfig, registry: Registry) => {
      const keyring = Keyring.parse(config.ENCRYPTION_KEYS);
      registerMissingKeys(registry, keyring);
      return keyring;
    },
    inject: [WORKER_CONFIG, Registry],
  },
  { provide: Redis, useFactory: redisFor('command'), inject: [WORKER_CONFIG, ThrottledLog] },
  { provide: QUEUE_REDIS, useFactory: redisFor('queue'), inject: [WORKER_CONFIG, ThrottledLog] },
  { provide: Shards, useFactory: shardsFor('command'), inject: [WORKER_CONFIG, ThrottledLog, Redis] },
  { provide: QUEUE_SHARDS, useFactory: shardsFor('queue'), inject: [WORKER_CONFIG, ThrottledLog, QUEUE_REDIS] },
  { provide: Kafka, useFactory: kafkaOf, inject: [WORKER_CONFIG, ThrottledLog] },
  { provide: KAFKA_ADMIN, useFactory: (kafka: Kafka) => kafka.admin(), inject: [Kafka] },
  { provide: StoreConditions, useClass: StoreConditions },
  { provide: Publisher, useClass: KafkaPublisher },
  {
    provide: Tracing,
    useFactory: (config: WorkerConfig, log: Log) => openTracing(config, 'partner-relay-worker', log),
    inject: [WORKER_CONFIG, Log],
  },
];

/** Providers for every module of the worker: configuration, logs, metrics, keys, and the clients of Redis and Kafka. */
@Global()
@Module({})
export class PlatformModule implements OnApplicationShutdown {
  constructor(
    private readonly shards: Shards,
    @Inject(QUEUE_SHARDS) private readonly queueShards: Shards,
  ) {}

  static register(config: WorkerConfig, fatal: (reason: string) => void): DynamicModule {
    const providers = [{ provide: WORKER_CONFIG, useValue: config }, { provide: FATAL, useValue: fatal }, ...drivers];
    return { module: PlatformModule, providers, exports: providers.map(({ provide }) => provide) };
  }

  /** Disconnects from Redis at the very end of the shutdown, because each earlier step may still write. */
  onApplicationShutdown(): void {
    for (const connection of [...this.shards.connections, ...this.queueShards.connections]) connection.disconnect();
  }
}

function redisFor(use: RedisUse): (config: WorkerConfig, log: ThrottledLog) => Redis {
  return (config, log) => {
    const settings = { ...config, clientName: clientNameOf('worker') };
    return connectRedis(settings, use, (error) => away(log, error, { connection: use }));
  };
}

function shardsFor(use: RedisUse): (config: WorkerConfig, log: ThrottledLog, redis: Redis) => Shards {
  return (config, log, redis) =>
    connectShards(config, use, (error, shard) => away(log, error, { connection: use, shard }), redis);
}

function away(log: ThrottledLog, error: Error, where: LogFields): void {
  log.warn('redis.away', 'Redis does not answer; the worker reconnects by itself', {
    ...where,
    reason: reasonOf(error),
  });
}

function kafkaOf(config: WorkerConfig, log: ThrottledLog): Kafka {
  return connectKafka(config, (_level, text, fields) => log.warn('kafka.fault', text, fields as LogFields));
}
