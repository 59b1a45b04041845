import { Module } from '@nestjs/common';
import { Keyring } from '@relay/keyring';
import { RegistryView } from '@relay/registry';
import { WebhookStore } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { RegistryModule } from '../registry/registry.module.js';
import { ReportingModule } from '../reporting/reporting.module.js';
import { FailingWebhooks } from './failing-webhooks.adapter.js';
import { WebhookEvents, WebhookHealth } from './webhook-health.js';

/** Warns of webhooks whose attempts all fail, and disables them. */
@Module({
  imports: [RegistryModule, ReportingModule],
  providers: [
    {
      provide: WebhookStore,
      useFactory: (redis: Redis, registry: RegistryView, keyring: Keyring) =>
        new WebhookStore(redis, registry.of('webhook'), keyring),
      inject: [Redis, RegistryView, Keyring],
    },
    FailingWebhooks,
    WebhookEvents,
    WebhookHealth,
  ],
  exports: [WebhookHealth],
})
export class WebhookHealthModule {}
