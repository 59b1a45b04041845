import { Module, type DynamicModule, type Type } from '@nestjs/common';
import { MODULE_METADATA } from '@nestjs/common/constants.js';
import type { IngressConfig } from '@relay/settings';
import { DeliveriesModule } from './deliveries/deliveries.module.js';
import { DocumentsModule, ErrorsModule } from './documents/documents.module.js';
import { HistoryModule } from './history/history.module.js';
import { ListenModule } from './listen/listen.module.js';
import { OAuthModule } from './oauth/oauth.module.js';
import { LogModule, PlatformModule } from './platform.module.js';
import { PortalModule } from './portal/portal.module.js';
import { ReplaysModule } from './replays/replays.module.js';
import { SessionsModule } from './sessions/sessions.module.js';
import { WebhooksModule } from './webhooks/webhooks.module.js';

/** The modules of all features, in the order of their routes in the OpenAPI document. */
export const FEATURES: readonly Type[] = [
  ErrorsModule,
  OAuthModule,
  SessionsModule,
  WebhooksModule,
  ReplaysModule,
  HistoryModule,
  DeliveriesModule,
  ListenModule,
  PortalModule,
];

export const controllersOf = (modules: readonly Type[]): Type[] =>
  modules.flatMap((module) => (Reflect.getMetadata(MODULE_METADATA.CONTROLLERS, module) ?? []) as Type[]);

/** The ingress. It consists of the platform, a module for each feature, and the documents that describe the features. */
@Module({})
export class IngressModule {
  static register(config: IngressConfig): DynamicModule {
    const imports = [
      PlatformModule.register(config),
      LogModule,
      ...FEATURES,
      DocumentsModule.register(controllersOf(FEATURES), config),
    ];
    return { module: IngressModule, imports };
  }
}
