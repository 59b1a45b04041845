import { Module, type DynamicModule } from '@nestjs/common';
import { RELAY_VERSION } from '@relay/config';
import { RedisBreakerStore } from '@relay/breaker';
import { fairLimits, Sender } from '@relay/delivery';
import {
  deadLettersTopic,
  deliveryAttemptsTopic,
  EVENT_TYPES,
  operationsTopic,
  registryTopic,
  topicOf,
} from '@relay/events';
import { RedisDeliveryHistory } from '@relay/history';
import { connectKafka } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { countDeliveries, readMemory } from '@relay/operations';
import { PartitionProgress, RedisPartitionProgress } from '@relay/progress';
import { KafkaPublisher, Publisher } from '@relay/publishing';
import { RegistryView } from '@relay/registry';
import { connectRedis, type RedisUse } from '@relay/redis';
import {
  HeldJobs,
  BullmqRetryQueue,
  DEFAULT_HORIZON_MS,
  JobBodies,
  parseSchedule,
  RetryQueue,
  Undeliverable,
  WaitingJobs,
  type RetryPolicy,
} from '@relay/retry';
import { Health, Log, PinoLog, reasonOf, ThrottledLog, type LogFields } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { Kafka, type Admin } from 'kafkajs';
import { Registry } from 'prom-client';
import { AttemptLog } from './delivery/attempt-log.js';
import { AttemptProcessor } from './queue/attempt.processor.js';
import { Attempts } from './delivery/attempts.js';
import { Breakers } from './delivery/breakers.js';
import { DeliveryDispatcher, type DispatchBounds } from './delivery/delivery-dispatcher.js';
import { UnprovenOrigins } from './delivery/unproven-origins.js';
import { probationProviders } from './delivery/probation.providers.js';
import { ReportingRetryQueue } from './queue/reporting-retry-queue.js';
import { EventReporter } from './reporting/event-reporter.js';
import { DeliveryMetrics } from './delivery/delivery-metrics.js';
import { HistoryWriter } from './reporting/history-writer.js';
import { sendingProviders } from './delivery/sending.providers.js';
import { FanOutConsumer } from './fan-out/fan-out.consumer.js';
import { FanOutTools } from './fan-out/fan-out-tools.js';
import { KafkaLogStrategy } from './log/kafka-log.strategy.js';
import { LogReader } from './log/log-reader.js';
import { ReadingPause } from './log/reading-pause.js';
import { parkingProviders } from './parking/parking.providers.js';
import { ParkingRule } from './parking/parking-rule.js';
import { WebhookHealth } from './webhook-health/webhook-health.js';
import { registryProviders } from './registry/registry.providers.js';
import type { WorkerConfig } from './worker.config.js';

/** BullMQ's own connection, which waits for Redis; the scripts use the other one, which fails at once. */
export const QUEUE_REDIS = Symbol('queue connection to Redis');
/** Connected by the start, and kept: a partition's bounds and commits are asked when it is assigned. */
export const KAFKA_ADMIN = Symbol('Kafka admin');

const boundsOf = (config: WorkerConfig): DispatchBounds => ({
  load: config.DELIVERY_CONCURRENCY * 3,
  waiting: config.ENDPOINT_CONCURRENCY * 4,
});

@Module({ controllers: [FanOutConsumer] })
export class WorkerModule {
  /** The composition root: which adapter stands behind which port. */
  static register(config: WorkerConfig, onDead: (reason: string) => void): DynamicModule {
    const policy: RetryPolicy = { schedule: parseSchedule(config.RETRY_SCHEDULE), horizonMs: DEFAULT_HORIZON_MS };
    const redis = (use: RedisUse) => (log: ThrottledLog) =>
      connectRedis(config, use, (error) =>
        log.warn(`redis.${use}_fault`, 'Redis does not answer; the worker reconnects by itself', {
          reason: reasonOf(error),
        }),
      );
    const providers = [
      { provide: Log, useFactory: () => new PinoLog('worker', config.LOG_LEVEL) },
      { provide: ThrottledLog, useFactory: (log: Log) => new ThrottledLog(log), inject: [Log] },
      { provide: Registry, useFactory: () => new Registry() },
      { provide: Health, useFactory: () => new Health() },
      { provide: Keyring, useFactory: () => Keyring.parse(config.ENCRYPTION_KEYS) },
      { provide: Redis, useFactory: redis('command'), inject: [ThrottledLog] },
      { provide: QUEUE_REDIS, useFactory: redis('queue'), inject: [ThrottledLog] },
      {
        provide: Kafka,
        useFactory: (log: ThrottledLog) =>
          connectKafka(config, (level, text, fields) => log.warn(`kafka.${level}`, text, fields as LogFields)),
        inject: [ThrottledLog],
      },
      { provide: KAFKA_ADMIN, useFactory: (kafka: Kafka) => kafka.admin(), inject: [Kafka] },
      {
        provide: Publisher,
        useFactory: (kafka: Kafka, log: Log) => new KafkaPublisher(kafka, log),
        inject: [Kafka, Log],
      },
      ...registryProviders(config),
      {
        provide: RedisWebhookView,
        useFactory: (client: Redis, registry: RegistryView, keyring: Keyring) =>
          new RedisWebhookView(client, registry.of('webhook'), keyring),
        inject: [Redis, RegistryView, Keyring],
      },
      {
        provide: PartitionProgress,
        useFactory: (client: Redis) => new RedisPartitionProgress(client, config.DEDUPE_WINDOW),
        inject: [Redis],
      },
      {
        provide: RetryQueue,
        useFactory: (client: Redis, publisher: Publisher, log: ThrottledLog) => {
          const teller = (topic: (prefix: string) => string) =>
            new EventReporter(publisher, topic(config.KAFKA_TOPIC_PREFIX), log);
          return new ReportingRetryQueue(new BullmqRetryQueue(client), teller(deadLettersTopic), teller(operationsTopic));
        },
        inject: [QUEUE_REDIS, Publisher, ThrottledLog],
      },
      ...sendingProviders(config),
      {
        provide: DeliveryMetrics,
        useFactory: (registry: Registry) => new DeliveryMetrics(registry),
        inject: [Registry],
      },
      {
        provide: AttemptLog,
        useFactory: (publisher: Publisher, log: ThrottledLog, history: HistoryWriter) =>
          new AttemptLog(new EventReporter(publisher, deliveryAttemptsTopic(config.KAFKA_TOPIC_PREFIX), log), history),
        inject: [Publisher, ThrottledLog, HistoryWriter],
      },
      {
        provide: Attempts,
        useFactory: (
          sender: Sender,
          attemptLog: AttemptLog,
          metrics: DeliveryMetrics,
          log: Log,
          health: WebhookHealth,
        ) => new Attempts(sender, { policy, version: RELAY_VERSION }, attemptLog, metrics, log, health),
        inject: [Sender, AttemptLog, DeliveryMetrics, Log, WebhookHealth],
      },
      {
        provide: HistoryWriter,
        useFactory: (client: Redis, pause: ReadingPause, log: ThrottledLog) =>
          new HistoryWriter(new RedisDeliveryHistory(client, config.HISTORY_WINDOW), () => pause.isMemoryScarce, log),
        inject: [Redis, ReadingPause, ThrottledLog],
      },
      {
        provide: Breakers,
        useFactory: (client: Redis, log: ThrottledLog) =>
          new Breakers(new RedisBreakerStore(client), log, config.DELIVERY_TIMEOUT),
        inject: [Redis, ThrottledLog],
      },
      ...probationProviders(config, QUEUE_REDIS),
      {
        provide: DeliveryDispatcher,
        useFactory: (
          attempts: Attempts,
          queue: RetryQueue,
          log: ThrottledLog,
          breakers: Breakers,
          webhooks: RedisWebhookView,
          probation: UnprovenOrigins,
        ) =>
          new DeliveryDispatcher(
            fairLimits(config.DELIVERY_CONCURRENCY, config.ENDPOINT_CONCURRENCY),
            boundsOf(config),
            attempts,
            queue,
            log,
            breakers,
            ({ id, version }) => webhooks.find(id)?.version === version,
            probation,
          ),
        inject: [Attempts, RetryQueue, ThrottledLog, Breakers, RedisWebhookView, UnprovenOrigins],
      },
      {
        provide: AttemptProcessor,
        useFactory: (
          connection: Redis,
          client: Redis,
          ...[attempts, courier, breakers, probation, queue, webhooks, attemptLog, log, waiting, held]: [
            Attempts,
            DeliveryDispatcher,
            Breakers,
            UnprovenOrigins,
            RetryQueue,
            RedisWebhookView,
            AttemptLog,
            ThrottledLog,
            WaitingJobs,
            HeldJobs,
          ]
        ) =>
          // Twice what slow and failing endpoints may hold together, so that healthy ones have as much; the rest is for first attempts.
          new AttemptProcessor(connection, Math.ceil(config.DELIVERY_CONCURRENCY / 2), {
            attempts,
            courier,
            breakers,
            probation,
            queue,
            bodies: new JobBodies(client),
            waiting,
            held,
            webhooks,
            policy,
            attemptLog,
            log,
          }),
        inject: [
          QUEUE_REDIS,
          Redis,
          Attempts,
          DeliveryDispatcher,
          Breakers,
          UnprovenOrigins,
          RetryQueue,
          RedisWebhookView,
          AttemptLog,
          ThrottledLog,
          WaitingJobs,
          HeldJobs,
        ],
      },
      {
        provide: FanOutTools,
        useFactory: (
          publisher: Publisher,
          queue: RetryQueue,
          metrics: DeliveryMetrics,
          log: ThrottledLog,
          pause: ReadingPause,
          parking: ParkingRule,
        ) => {
          const undeliverable = new Undeliverable(publisher, queue, log, (type, reason) => metrics.ended(type, reason));
          return new FanOutTools(config.KAFKA_TOPIC_PREFIX, undeliverable, metrics, log, pause, parking);
        },
        inject: [Publisher, RetryQueue, DeliveryMetrics, ThrottledLog, ReadingPause, ParkingRule],
      },
      {
        provide: ReadingPause,
        useFactory: (client: Redis, log: Log, registry: Registry) =>
          new ReadingPause(
            async () => ({ memory: await readMemory(client), queued: await countDeliveries(client) }),
            config.QUEUE_LIMIT,
            log,
            registry,
          ),
        inject: [Redis, Log, Registry],
      },
      {
        provide: LogReader,
        useFactory: (progress: PartitionProgress, admin: Admin, log: Log, metrics: DeliveryMetrics) =>
          new LogReader(progress, admin, log, {
            groupId: config.KAFKA_CONSUMER_GROUP,
            flushEveryMs: 20,
            commitEveryMs: 2_500,
            compareEveryMs: 3_000,
            expired: (records) => metrics.expired(records),
          }),
        inject: [PartitionProgress, KAFKA_ADMIN, Log, DeliveryMetrics],
      },
      {
        provide: KafkaLogStrategy,
        useFactory: (kafka: Kafka, reader: LogReader) =>
          new KafkaLogStrategy(kafka, reader, {
            groupId: config.KAFKA_CONSUMER_GROUP,
            deployment: registryTopic(config.KAFKA_TOPIC_PREFIX),
            topics: EVENT_TYPES.map((type) => topicOf(config.KAFKA_TOPIC_PREFIX, type)),
            onDead,
          }),
        inject: [Kafka, LogReader],
      },
      ...parkingProviders(config, { admin: KAFKA_ADMIN, queueRedis: QUEUE_REDIS }),
    ];
    return { module: WorkerModule, providers };
  }
}
