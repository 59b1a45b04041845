import { Audit } from '@relay/audit';
import { DeadLetterEndings, DeadLetterReader, DeadLetterService } from '@relay/dead-letters';
import { Inject, Module, type DynamicModule, type OnApplicationShutdown } from '@nestjs/common';
import { AccessTokens, FailureLimiter, tokenProviders } from '@relay/access';
import { ClientDirectory, RedisClientStore, type ClientCommand } from '@relay/identity';
import { registryTopic } from '@relay/events';
import { connectKafka, KeptAdmin } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { KafkaPublisher, Publisher } from '@relay/publishing';
import { clientNameOf, connectRedis, connectShards, Shards } from '@relay/redis';
import { KafkaRegistryLog, RegistryView, type RegistryLog } from '@relay/registry';
import { openReplayService, ReplayService } from '@relay/replays';
import { BullmqRetryQueue, RetryQueue } from '@relay/retry';
import { OPERATIONS_CONFIG, type OperationsConfig } from '@relay/settings';
import { Health, Log, PinoLog, reasonOf, ThrottledLog, type LogFields } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { Kafka } from 'kafkajs';
import { Registry } from 'prom-client';
import { ConsoleSessions } from './access/console-sessions.adapter.js';
import { OperatorGuard } from './access/operator-guard.js';
import { apiProviders } from './api.providers.js';
import { Board } from './board/board.adapter.js';
import { CONTROLLERS } from './controllers.js';
import { envelopeProviders } from './envelopes/envelopes.providers.js';
import { StoreState } from './state/store-state.adapter.js';

const FAILURES = { name: 'operations', points: 10, windowMs: 60_000 };

/** The operations app and its providers. */
@Module({ controllers: [...CONTROLLERS] })
export class OperationsModule implements OnApplicationShutdown {
  constructor(
    @Inject(Board) private readonly board: Board,
    @Inject(DeadLetterReader) private readonly box: DeadLetterReader,
    @Inject(RetryQueue) private readonly queue: RetryQueue,
    @Inject(Publisher) private readonly publisher: Publisher,
    @Inject(Shards) private readonly shards: Shards,
  ) {}

  /** @param publisher @param registryLog used by specs instead of those on Kafka */
  static register(config: OperationsConfig, publisher?: Publisher, registryLog?: RegistryLog): DynamicModule {
    const providers = [
      { provide: OPERATIONS_CONFIG, useValue: config },
      { provide: Log, useFactory: () => new PinoLog('operations', config.LOG_LEVEL) },
      { provide: ThrottledLog, useFactory: (log: Log) => new ThrottledLog(log), inject: [Log] },
      { provide: Registry, useFactory: () => new Registry() },
      { provide: Health, useFactory: () => new Health() },
      { provide: Keyring, useFactory: () => Keyring.parse(config.ENCRYPTION_KEYS) },
      {
        provide: Redis,
        // BullMQ uses it too: a connection that waits for Redis would make a change long after its request was
        // answered.
        useFactory: (log: ThrottledLog) =>
          connectRedis({ ...config, clientName: clientNameOf('operations') }, 'command', (error) =>
            away(log, error, {}),
          ),
        inject: [ThrottledLog],
      },
      {
        provide: Shards,
        useFactory: (log: ThrottledLog, client: Redis) =>
          connectShards(config, 'command', (error, shard) => away(log, error, { shard }), client),
        inject: [ThrottledLog, Redis],
      },
      {
        provide: Kafka,
        useFactory: (log: ThrottledLog) =>
          connectKafka(config, (_level, text, fields) =>
            log.warn('kafka.fault', text, { detail: JSON.stringify(fields) }),
          ),
        inject: [ThrottledLog],
      },
      { provide: KeptAdmin, useFactory: (kafka: Kafka) => new KeptAdmin(kafka), inject: [Kafka] },
      {
        provide: Publisher,
        useFactory: (kafka: Kafka, log: Log) => publisher ?? new KafkaPublisher(kafka, log),
        inject: [Kafka, Log],
      },
      {
        provide: Audit,
        useFactory: (told: Publisher) => new Audit(told, config.KAFKA_TOPIC_PREFIX, Date.now),
        inject: [Publisher],
      },
      {
        provide: RegistryView,
        useFactory: (client: Redis, admin: KeptAdmin, told: Publisher, log: Log) => {
          const topic = registryTopic(config.KAFKA_TOPIC_PREFIX);
          const onKafka = new KafkaRegistryLog(admin, told, topic, config.KAFKA_CONSUMER_GROUP, log);
          return new RegistryView(client, registryLog ?? onKafka, log);
        },
        inject: [Redis, KeptAdmin, Publisher, Log],
      },
      {
        provide: ClientDirectory,
        useFactory: (client: Redis, registry: RegistryView, keyring: Keyring) => {
          const view = registry.of<ClientCommand>('client');
          // While Kafka is away operators are admitted by what Redis holds, unless that is another deployment's.
          const current = (): Promise<void> =>
            view.current().catch((error: unknown) => {
              if (registry.claim.fault !== undefined) throw error;
            });
          return new ClientDirectory(new RedisClientStore(client, { ...view, current }), keyring);
        },
        inject: [Redis, RegistryView, Keyring],
      },
      ...tokenProviders(config),
      ...envelopeProviders(config),
      {
        provide: OperatorGuard,
        useFactory: (tokens: AccessTokens, directory: ClientDirectory, client: Redis, sessions: ConsoleSessions) =>
          new OperatorGuard(tokens, directory, new FailureLimiter(client, FAILURES), sessions),
        inject: [AccessTokens, ClientDirectory, Redis, ConsoleSessions],
      },
      {
        provide: RedisWebhookView,
        useFactory: (client: Redis, registry: RegistryView, keyring: Keyring) => {
          const view = new RedisWebhookView(client, registry.of('webhook'), keyring);
          // While Redis is away the next request reads everything.
          client.on('ready', () => void view.reload().catch(() => undefined));
          return view;
        },
        inject: [Redis, RegistryView, Keyring],
      },
      { provide: RetryQueue, useFactory: (shards: Shards) => new BullmqRetryQueue(shards), inject: [Shards] },
      {
        provide: DeadLetterReader,
        useFactory: (shards: Shards) => new DeadLetterReader(shards),
        inject: [Shards],
      },
      {
        provide: DeadLetterService,
        useFactory: (box: DeadLetterReader, queue: RetryQueue, webhooks: RedisWebhookView, told: Publisher) =>
          new DeadLetterService(box, queue, webhooks, new DeadLetterEndings(told, config.KAFKA_TOPIC_PREFIX), Date.now),
        inject: [DeadLetterReader, RetryQueue, RedisWebhookView, Publisher],
      },
      {
        provide: ReplayService,
        useFactory: (shards: Shards, admin: KeptAdmin, audit: Audit) =>
          openReplayService(shards, admin, audit, config.KAFKA_TOPIC_PREFIX),
        inject: [Shards, KeptAdmin, Audit],
      },
      {
        provide: StoreState,
        useFactory: (shards: Shards, kafka: Kafka) => new StoreState(shards, kafka, config),
        inject: [Shards, Kafka],
      },
      {
        provide: Board,
        useFactory: (shards: Shards) => new Board(shards, config.OPERATIONS_WRITE === true),
        inject: [Shards],
      },
    ];
    return { module: OperationsModule, providers: [...providers, ...apiProviders(config)] };
  }

  /** HTTP is closed by now. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.board.close(), this.box.close(), this.queue.close(), this.publisher.close()]);
    for (const connection of this.shards.connections) connection.disconnect();
  }
}

function away(log: ThrottledLog, error: Error, where: LogFields): void {
  log.warn('redis.away', 'Redis does not answer; the app reconnects by itself', { ...where, reason: reasonOf(error) });
}
