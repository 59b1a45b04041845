import { Module, type DynamicModule, type Type } from '@nestjs/common';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { RELAY_VERSION } from '@relay/config';
import { DOCUMENTS, DocumentsController } from './documents.controller.js';
import { documentsOf, type Documents } from './documents.js';

@Module({})
export class DocumentsModule {
  /** @param controllers all of the app but those of this module */
  static register(controllers: readonly Type[]): DynamicModule {
    return {
      module: DocumentsModule,
      controllers: [DocumentsController],
      providers: [
        {
          provide: DOCUMENTS,
          useFactory: (config: IngressConfig) => documentsFor([...controllers, DocumentsController], config),
          inject: [INGRESS_CONFIG],
        },
      ],
    };
  }
}

const documentsFor = (controllers: readonly Type[], config: IngressConfig): Documents =>
  documentsOf(controllers, {
    publicUrl: config.PUBLIC_URL,
    version: RELAY_VERSION,
    topicPrefix: config.KAFKA_TOPIC_PREFIX,
    partitions: config.KAFKA_TOPIC_PARTITIONS,
  });
