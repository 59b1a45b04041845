import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { FailureLimiter, NetworkFailures } from '@relay/access';
import { RedisOriginProofs } from '@relay/breaker';
import { HttpSender, Sender, TracedSender } from '@relay/delivery';
import { guardedConnector } from '@relay/egress';
import { ClientDirectory } from '@relay/identity';
import { Keyring } from '@relay/keyring';
import { NoticeLines, Notices } from '@relay/notices';
import { Publisher } from '@relay/publishing';
import { RegistryView } from '@relay/registry';
import { Log, ThrottledLog, Tracing } from '@relay/telemetry';
import { ENABLED, UNVERIFIED, WebhookStore, type WebhookCommand } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { SharedQuota } from '@relay/http';
import { INGRESS_CONFIG, type IngressConfig, policyOf } from '@relay/settings';
import { EndpointVerification } from './endpoint-verification.js';
import { CredentialPartners, Listings } from './listings.js';
import { TestDeliveries, UnprovenTests } from './test-deliveries.js';
import { AuditedWebhooks, ChangeBudget, PresentRequest, WebhookAudit } from './audited-webhooks.js';
import { WebhookWaiting } from './webhook-problems.js';
import { DraftTestController, WebhookController, WebhooksController } from './webhooks.controller.js';

@Module({
  exports: [WebhookStore, WebhookWaiting],
  controllers: [WebhooksController, DraftTestController, WebhookController],
  providers: [
    EndpointVerification,
    Listings,
    PresentRequest,
    WebhookAudit,
    WebhookWaiting,
    {
      provide: AuditedWebhooks,
      useFactory: (registry: RegistryView, audit: WebhookAudit, budget: ChangeBudget, notices: Notices) =>
        new AuditedWebhooks(registry.of<WebhookCommand>('webhook'), audit, budget, notices),
      inject: [RegistryView, WebhookAudit, ChangeBudget, Notices],
    },
    {
      provide: Notices,
      useFactory: (redis: Redis, publisher: Publisher, log: Log, config: IngressConfig) =>
        new Notices(new NoticeLines(redis), publisher, config.KAFKA_TOPIC_PREFIX, new ThrottledLog(log, 60_000)),
      inject: [Redis, Publisher, Log, INGRESS_CONFIG],
    },
    {
      provide: ChangeBudget,
      useFactory: (redis: Redis, present: PresentRequest, { WEBHOOK_CHANGES: points }: IngressConfig) =>
        new ChangeBudget(new SharedQuota(redis, { name: 'webhook-changes', points, windowMs: 1_000_000 }), present),
      inject: [Redis, PresentRequest, INGRESS_CONFIG],
    },
    {
      provide: WebhookStore,
      useFactory: (redis: Redis, registry: AuditedWebhooks, keyring: Keyring, config: IngressConfig) =>
        new WebhookStore(redis, registry, keyring, {
          perPartner: config.MAX_WEBHOOKS_PER_PARTNER,
          perOrigin: config.WEBHOOKS_PER_ORIGIN,
          fresh: config.VERIFY_ENDPOINTS ? UNVERIFIED : ENABLED,
        }),
      inject: [Redis, AuditedWebhooks, Keyring, INGRESS_CONFIG],
    },
    {
      provide: Sender,
      useFactory: (config: IngressConfig, tracing: Tracing | undefined) => {
        const sender = new HttpSender(guardedConnector(policyOf(config), { proxyUrl: config.EGRESS_PROXY_URL }), {
          keepsAnswers: config.KEEP_ENDPOINT_ANSWERS,
        });
        return tracing === undefined ? sender : new TracedSender(sender, tracing);
      },
      inject: [INGRESS_CONFIG, Tracing],
    },
    {
      provide: TestDeliveries,
      useFactory: (sender: Sender, redis: Redis) =>
        new TestDeliveries(
          sender,
          {
            webhook: new FailureLimiter(redis, { name: 'webhook-test', points: 6, windowMs: 60_000 }),
            // A draft needs no registration, so the budget of changes does not limit these tests.
            drafts: new FailureLimiter(redis, { name: 'draft-test', points: 6, windowMs: 60_000 }),
            partner: new SharedQuota(redis, { name: 'tests-of-partner', points: 60, windowMs: 60_000 }),
          },
          new UnprovenTests(new RedisOriginProofs(redis)),
        ),
      inject: [Sender, Redis],
    },
    {
      provide: CredentialPartners,
      useFactory: (webhooks: WebhookStore, clients: ClientDirectory, redis: Redis, config: IngressConfig) =>
        new CredentialPartners(
          webhooks,
          clients,
          new NetworkFailures(redis, { name: 'list-by-credential', points: 10, windowMs: 60_000, everywhere: 600 }),
          new NetworkFailures(redis, { name: 'listings-by-credential', points: 120, windowMs: 60_000 }),
          config.LIST_BY_CREDENTIAL,
        ),
      inject: [WebhookStore, ClientDirectory, Redis, INGRESS_CONFIG],
    },
  ],
})
export class WebhooksModule implements OnApplicationShutdown {
  constructor(private readonly sender: Sender) {}

  async onApplicationShutdown(): Promise<void> {
    await this.sender.close();
  }
}
