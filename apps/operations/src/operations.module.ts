import { randomBytes } from 'node:crypto';
import {
  Inject,
  Module,
  type Abstract,
  type DynamicModule,
  type FactoryProvider,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { AccessTokens, FailureLimiter, PortalLinks, tokenProviders } from '@relay/access';
import { Audit } from '@relay/audit';
import { RELAY_VERSION } from '@relay/config';
import { DeadLetterEndings, DeadLetterReader, DeadLetterService } from '@relay/dead-letters';
import { EventTypeStore, EventTypesView } from '@relay/event-types';
import { registryTopic } from '@relay/events';
import { ClientDirectory, ClientStore, type ClientCommand } from '@relay/identity';
import { connectKafka, Kafka, KeptAdmin } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { NoticeLines, Notices } from '@relay/notices';
import { KafkaPublisher, Publisher } from '@relay/publishing';
import { clientNameOf, connectRedis, connectShards, Shards } from '@relay/redis';
import { KafkaRegistryLog, RegistryView, type RegistryLog } from '@relay/registry';
import { openReplayService, ReplayService } from '@relay/replays';
import { BullmqRetryQueue, RetryQueue } from '@relay/retry';
import { OPERATIONS_CONFIG, type OperationsConfig } from '@relay/settings';
import { Health, Log, PinoLog, reasonOf, ThrottledLog, type LogFields } from '@relay/telemetry';
import { RedisWebhookView, WebhookStore } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { ConsoleSessions } from './access/console-sessions.adapter.js';
import { OperatorGuard } from './access/operator-guard.js';
import { AuditLog } from './audit-log/audit-log.adapter.js';
import { Board } from './board/board.adapter.js';
import { ClientDesk } from './clients/client-desk.adapter.js';
import { CONTROLLERS, documentOf } from './controllers.js';
import { EnvelopeStores, openEnvelopeStores } from './envelopes/envelope-stores.adapter.js';
import { EventTypeDesk } from './event-types/event-type-desk.adapter.js';
import { hasProvider, IdentityProvider } from './sign-in/identity-provider.adapter.js';
import { SignIns } from './sign-in/sign-ins.adapter.js';
import { Examination } from './state/examination.adapter.js';
import { NowState, StoreState } from './state/now-state.adapter.js';
import { DOCUMENT } from './state/state.controller.js';
import { WebhookStates } from './webhooks/webhook-states.adapter.js';

const FAILURES = { name: 'operations', points: 10, windowMs: 60_000 };
/** People behind one address share it. */
const SIGN_IN_FAILURES = { name: 'sign-in', points: 30, windowMs: 60_000 };

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

  /** @param publisher @param registryLog specs pass these instead of the ones on Kafka */
  static register(config: OperationsConfig, publisher?: Publisher, registryLog?: RegistryLog): DynamicModule {
    const log = new PinoLog('operations', config.LOG_LEVEL);
    const facts = { publicUrl: config.PUBLIC_URL, version: RELAY_VERSION };
    const providers = [
      { provide: OPERATIONS_CONFIG, useValue: config },
      { provide: DOCUMENT, useValue: documentOf(facts) },
      { provide: Log, useValue: log },
      { provide: ThrottledLog, useValue: new ThrottledLog(log) },
      { provide: Registry, useValue: new Registry() },
      { provide: Health, useValue: new Health() },
      made(Keyring, [], () => Keyring.parse(config.ENCRYPTION_KEYS)),
      ...storeProviders(config),
      made(Publisher, [Kafka, Log], (kafka, told) => publisher ?? new KafkaPublisher(kafka, told)),
      made(RegistryView, [Redis, KeptAdmin, Publisher, Log], (redis, admin, told, warned) => {
        const topic = registryTopic(config.KAFKA_TOPIC_PREFIX);
        const onKafka = new KafkaRegistryLog(admin, told, topic, config.KAFKA_CONSUMER_GROUP, warned);
        return new RegistryView(redis, registryLog ?? onKafka, warned);
      }),
      ...tokenProviders(config),
      ...domainProviders(config),
      AuditLog,
      Board,
      ClientDesk,
      EventTypeDesk,
      Examination,
      NowState,
      StoreState,
      WebhookStates,
    ];
    return { module: OperationsModule, providers };
  }

  /** Closes the connections, after HTTP is closed. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.board.close(), this.box.close(), this.queue.close(), this.publisher.close()]);
    for (const connection of this.shards.connections) connection.disconnect();
  }
}

/** Returns the providers of connections. */
const storeProviders = (config: OperationsConfig): FactoryProvider[] => [
  // This connection fails at once, also for BullMQ; otherwise it waits for Redis and makes a change long after the answer.
  made(Redis, [ThrottledLog], (log) =>
    connectRedis({ ...config, clientName: clientNameOf('operations') }, 'command', (error) => away(log, error, {})),
  ),
  made(Shards, [ThrottledLog, Redis], (log, redis) =>
    connectShards(config, 'command', (error, shard) => away(log, error, { shard }), redis),
  ),
  made(Kafka, [ThrottledLog], (log) =>
    connectKafka(config, (_level, text, fields) => log.warn('kafka.fault', text, { detail: JSON.stringify(fields) })),
  ),
  made(KeptAdmin, [Kafka], (kafka) => new KeptAdmin(kafka)),
];

/** Returns the providers of the routes and their guard, except the connections. */
const domainProviders = (config: OperationsConfig): FactoryProvider[] => [
  made(Audit, [Publisher], (publisher) => new Audit(publisher, config.KAFKA_TOPIC_PREFIX, Date.now)),
  made(ClientDirectory, [Redis, RegistryView, Keyring], (redis, registry, keyring) => {
    const view = registry.of<ClientCommand>('client');
    // While Kafka is away operators are admitted by the clients in Redis, unless Redis belongs to another deployment.
    const current = (): Promise<void> =>
      view.current().catch((error: unknown) => {
        if (registry.claim.fault !== undefined) throw error;
      });
    return new ClientDirectory(new ClientStore(redis, { ...view, current }), keyring);
  }),
  made(EventTypeStore, [Redis, RegistryView], (redis, registry) => new EventTypeStore(redis, registry.of('eventType'))),
  made(EventTypesView, [EventTypeStore], (store) => new EventTypesView(store, config.BUILT_IN_EVENT_TYPES)),
  made(ConsoleSessions, [Redis], (redis) => new ConsoleSessions(redis, randomBytes, Date.now)),
  made(SignIns, [Keyring, Redis], (keyring, redis) => {
    const provider = hasProvider(config) ? new IdentityProvider(config) : undefined;
    return new SignIns(provider, keyring, redis, new FailureLimiter(redis, SIGN_IN_FAILURES));
  }),
  made(
    OperatorGuard,
    [AccessTokens, ClientDirectory, Redis, ConsoleSessions, SignIns],
    (tokens, directory, redis, sessions, { provider }) =>
      new OperatorGuard(tokens, directory, new FailureLimiter(redis, FAILURES), sessions, provider),
  ),
  made(PortalLinks, [Redis], (redis) => new PortalLinks(redis, randomBytes, config.PORTAL_LINK_TTL)),
  made(RedisWebhookView, [Redis, RegistryView, Keyring], (redis, registry, keyring) => {
    const view = new RedisWebhookView(redis, registry.of('webhook'), keyring);
    // If this reload fails, the next request reads everything.
    redis.on('ready', () => void view.reload().catch(() => undefined));
    return view;
  }),
  made(
    WebhookStore,
    [Redis, RegistryView, Keyring],
    (redis, registry, keyring) => new WebhookStore(redis, registry.of('webhook'), keyring),
  ),
  made(
    Notices,
    [Redis, Publisher, Log],
    (redis, publisher, log) =>
      new Notices(new NoticeLines(redis), publisher, config.KAFKA_TOPIC_PREFIX, new ThrottledLog(log, 60_000)),
  ),
  made(RetryQueue, [Shards], (shards) => new BullmqRetryQueue(shards)),
  made(DeadLetterReader, [Shards], (shards) => new DeadLetterReader(shards)),
  made(
    DeadLetterService,
    [DeadLetterReader, RetryQueue, RedisWebhookView, Publisher],
    (box, queue, webhooks, told) =>
      new DeadLetterService(box, queue, webhooks, new DeadLetterEndings(told, config.KAFKA_TOPIC_PREFIX), Date.now),
  ),
  made(ReplayService, [Shards, KeptAdmin, Audit], (shards, admin, audit) =>
    openReplayService(shards, admin, audit, config.KAFKA_TOPIC_PREFIX),
  ),
  made(
    EnvelopeStores,
    [Kafka, KeptAdmin, Redis, Shards, RedisWebhookView, Log, ThrottledLog],
    (kafka, admin, redis, shards, webhooks, log, throttled) =>
      openEnvelopeStores(config, [kafka, admin, redis, shards], webhooks, [log, throttled]),
  ),
];

type Made<Needs extends readonly Abstract<unknown>[]> = { [Index in keyof Needs]: Needs[Index]['prototype'] };

/** Returns a provider that is made from others, each named by its class. */
function made<What, const Needs extends readonly Abstract<unknown>[]>(
  provide: Abstract<What>,
  inject: Needs,
  make: (...needs: Made<Needs>) => NoInfer<What>,
): FactoryProvider {
  return { provide, inject: [...inject], useFactory: make as FactoryProvider['useFactory'] };
}

function away(log: ThrottledLog, error: Error, where: LogFields): void {
  log.warn('redis.away', 'Redis does not answer; the app reconnects by itself', { ...where, reason: reasonOf(error) });
}
