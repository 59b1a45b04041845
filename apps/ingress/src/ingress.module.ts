import { Module, type DynamicModule } from '@nestjs/common';
import type { IngressConfig } from '@relay/settings';
import { DocumentsModule } from './documents/documents.module.js';
import { controllersOf, FEATURES } from './features.js';
import { LogModule } from './log.module.js';
import { PlatformModule } from './platform.module.js';

/** The ingress: the platform, one module for each feature, and the documents of all of them. */
@Module({})
export class IngressModule {
  static register(config: IngressConfig): DynamicModule {
    const imports = [
      PlatformModule.register(config),
      LogModule,
      ...FEATURES,
      DocumentsModule.register(controllersOf(FEATURES)),
    ];
    return { module: IngressModule, imports };
  }
}
