import { Module } from '@nestjs/common';
import { ClientDirectory, FailureLimiter } from '@relay/access';
import { egressPolicy } from '@relay/egress';
import { Keyring } from '@relay/keyring';
import { RegistryView } from '@relay/registry';
import { RedisWebhookStore, WebhookStore, type WebhookCommand } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { INGRESS_CONFIG, type IngressConfig } from '../ingress.config.js';
import { CredentialOwners } from './credential-owners.js';
import { EGRESS_POLICY, WebhooksController } from './webhooks.controller.js';

const FAILURES = { name: 'list-by-credential', points: 10, windowMs: 60_000 };

@Module({
  controllers: [WebhooksController],
  providers: [
    {
      provide: WebhookStore,
      useFactory: (redis: Redis, registry: RegistryView, keyring: Keyring, config: IngressConfig) =>
        new RedisWebhookStore(redis, registry.of<WebhookCommand>('webhook'), keyring, config.MAX_WEBHOOKS_PER_PARTNER),
      inject: [Redis, RegistryView, Keyring, INGRESS_CONFIG],
    },
    {
      provide: CredentialOwners,
      useFactory: (webhooks: WebhookStore, clients: ClientDirectory, redis: Redis, config: IngressConfig) =>
        new CredentialOwners(webhooks, clients, new FailureLimiter(redis, FAILURES), config.LIST_BY_CREDENTIAL),
      inject: [WebhookStore, ClientDirectory, Redis, INGRESS_CONFIG],
    },
    { provide: EGRESS_POLICY, useFactory: policyOf, inject: [INGRESS_CONFIG] },
  ],
})
export class WebhooksModule {}

function policyOf(config: IngressConfig): ReturnType<typeof egressPolicy> {
  return egressPolicy({
    ports: config.EGRESS_PORTS,
    allowHttp: config.EGRESS_ALLOW_HTTP,
    allowCidrs: config.EGRESS_ALLOW_CIDRS,
    denyCidrs: config.EGRESS_DENY_CIDRS,
  });
}
