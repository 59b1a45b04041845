import { Module, type DynamicModule } from '@nestjs/common';
import { DeliveriesModule } from './deliveries/deliveries.module.js';
import { HttpModule } from './http/http.module.js';
import type { IngressConfig } from './ingress.config.js';
import { OAuthModule } from './oauth/oauth.module.js';
import { PlatformModule } from './platform.module.js';
import { SessionsModule } from './sessions/sessions.module.js';
import { WebhooksModule } from './webhooks/webhooks.module.js';

/** The whole ingress: one module per folder over the platform. */
@Module({})
export class IngressModule {
  static register(config: IngressConfig): DynamicModule {
    const imports = [
      PlatformModule.register(config),
      HttpModule,
      OAuthModule,
      SessionsModule,
      WebhooksModule,
      DeliveriesModule,
    ];
    return { module: IngressModule, imports };
  }
}
