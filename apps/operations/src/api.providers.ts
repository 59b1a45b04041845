import { randomBytes } from 'node:crypto';
import type { Provider } from '@nestjs/common';
import { PortalLinks } from '@relay/access';
import { Audit } from '@relay/audit';
import { RELAY_VERSION } from '@relay/config';
import { type ClientCommand, RedisClientStore } from '@relay/identity';
import { KeptAdmin, LogFetcher } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { NoticeLines, Notices } from '@relay/notices';
import { Publisher } from '@relay/publishing';
import { RegistryView } from '@relay/registry';
import { AttemptIndex } from '@relay/search';
import type { OperationsConfig } from '@relay/settings';
import { Log, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookStore, RedisWebhookView, WebhookStore } from '@relay/webhooks';
import { Shards } from '@relay/redis';
import { Redis } from 'ioredis';
import { Kafka } from 'kafkajs';
import { ConsoleSessions } from './access/console-sessions.adapter.js';
import { AuditLog } from './audit-log/audit-log.adapter.js';
import { ClientDesk } from './clients/client-desk.adapter.js';
import { CONTROLLERS } from './controllers.js';
import { ATTEMPT_INDEX } from './envelopes/envelope-stores.js';
import { Examination } from './doctor/examination.adapter.js';
import { DOCUMENT } from './document/document.controller.js';
import { documentBytes } from './document/document.js';
import { NowState } from './now/now-state.adapter.js';
import { WebhookStates } from './webhooks/webhook-states.adapter.js';

/** What the routes need beyond the stores. */
export const apiProviders = (config: OperationsConfig): Provider[] => [
  {
    provide: DOCUMENT,
    useFactory: () => documentBytes(CONTROLLERS, { publicUrl: config.PUBLIC_URL, version: RELAY_VERSION }),
  },
  {
    provide: ConsoleSessions,
    useFactory: (redis: Redis) => new ConsoleSessions(redis, randomBytes, Date.now),
    inject: [Redis],
  },
  {
    provide: PortalLinks,
    useFactory: (redis: Redis) => new PortalLinks(redis, randomBytes, config.PORTAL_LINK_TTL),
    inject: [Redis],
  },
  {
    provide: WebhookStates,
    useFactory: (redis: Redis, shards: Shards, view: RedisWebhookView) =>
      new WebhookStates(redis, shards, view, config),
    inject: [Redis, Shards, RedisWebhookView],
  },
  {
    provide: WebhookStore,
    useFactory: (redis: Redis, registry: RegistryView, keyring: Keyring) =>
      new RedisWebhookStore(redis, registry.of('webhook'), keyring),
    inject: [Redis, RegistryView, Keyring],
  },
  {
    provide: Notices,
    useFactory: (redis: Redis, publisher: Publisher, log: Log) =>
      new Notices(new NoticeLines(redis), publisher, config.KAFKA_TOPIC_PREFIX, new ThrottledLog(log, 60_000)),
    inject: [Redis, Publisher, Log],
  },
  {
    provide: ClientDesk,
    useFactory: (redis: Redis, registry: RegistryView, keyring: Keyring, audit: Audit) =>
      new ClientDesk(new RedisClientStore(redis, registry.of<ClientCommand>('client')), keyring, redis, audit),
    inject: [Redis, RegistryView, Keyring, Audit],
  },
  {
    provide: Examination,
    useFactory: (keyring: Keyring, shards: Shards, admin: KeptAdmin) => new Examination(config, keyring, shards, admin),
    inject: [Keyring, Shards, KeptAdmin],
  },
  {
    provide: NowState,
    useFactory: (shards: Shards, admin: KeptAdmin, index: AttemptIndex | null, log: Log) =>
      new NowState(shards, admin, index, config, log),
    inject: [Shards, KeptAdmin, ATTEMPT_INDEX, Log],
  },
  {
    provide: AuditLog,
    useFactory: (kafka: Kafka, admin: KeptAdmin) =>
      new AuditLog(new LogFetcher(kafka), admin, config.KAFKA_TOPIC_PREFIX),
    inject: [Kafka, KeptAdmin],
  },
];
