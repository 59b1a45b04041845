import {
  applyDecorators,
  Controller,
  Get,
  Header,
  Module,
  Param,
  Res,
  type DynamicModule,
  type Type,
} from '@nestjs/common';
import { RELAY_VERSION } from '@relay/config';
import { Access, type FastifyReply } from '@relay/http';
import { Operation, operationsOf, type OperationText } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { z } from 'zod';
import { Documents } from './documents.js';
import { EventCatalogue } from './event-catalogue.js';

const document = z.looseObject({}).describe('The document.');

const reading = (summary: string, mediaType: string, schema: z.ZodType) => ({
  summary,
  answer: { description: 'The document.', mediaType, content: { schema } },
});
const schemaName = z.string().describe('Name of the schema, as in this document, and `.json`.');

export const operations = operationsOf('Documents', {
  readOpenApi: reading('This document', 'application/json', document),
  readAsyncApi: reading('The Kafka topics (AsyncAPI 3)', 'application/json', document),
  readDocs: reading('This document for people', 'text/html', z.string()),
  readErrors: reading('What each error means', 'text/markdown', z.string()),
  readEventTypes: {
    summary: 'The event types that webhooks can be registered for',
    answer: { description: 'All event types.', content: { schema: EventCatalogue } },
  },
  readSchema: {
    ...reading('One JSON Schema', 'application/schema+json', document),
    path: { name: { schema: schemaName, example: 'Envelope.json' } },
    problems: ['not-found'],
  },
});

const JSON_TYPE = 'application/json; charset=utf-8';

const Serves = (text: OperationText, mediaType: string): MethodDecorator =>
  applyDecorators(Operation(text), Header('cache-control', 'public, max-age=300'), Header('content-type', mediaType));

/** Serves the documents about the relay, for generators, validators and people. */
@Controller()
@Access({ kind: 'public' })
export class DocumentsController {
  constructor(private readonly documents: Documents) {}

  @Get('openapi.json')
  @Serves(operations.readOpenApi, JSON_TYPE)
  openApi(): Buffer {
    return this.documents.openApi;
  }

  @Get('asyncapi.json')
  @Serves(operations.readAsyncApi, JSON_TYPE)
  asyncApi(): Buffer {
    return this.documents.asyncApi;
  }

  @Get('event-types')
  @Serves(operations.readEventTypes, JSON_TYPE)
  eventTypes(): Buffer {
    return this.documents.eventTypes;
  }

  @Get('schemas/:name')
  @Serves(operations.readSchema, 'application/schema+json')
  schema(@Param('name') name: string): Buffer {
    const found = this.documents.schemas.get(name);
    if (found === undefined) throw new ProblemError('not-found', 'There is no such schema.');
    return found;
  }

  @Get('docs')
  @Serves(operations.readDocs, 'text/html; charset=utf-8')
  page(@Res({ passthrough: true }) reply: FastifyReply): Buffer {
    void reply.header('content-security-policy', this.documents.pagePolicy);
    return this.documents.page;
  }
}

@Module({})
export class DocumentsModule {
  /** @param controllers all controllers of the app except this module's */
  static register(controllers: readonly Type[]): DynamicModule {
    const useFactory = (config: IngressConfig): Documents =>
      new Documents([...controllers, DocumentsController], {
        publicUrl: config.PUBLIC_URL,
        version: RELAY_VERSION,
        topicPrefix: config.KAFKA_TOPIC_PREFIX,
        partitions: config.KAFKA_TOPIC_PARTITIONS,
      });
    return {
      module: DocumentsModule,
      controllers: [DocumentsController],
      providers: [{ provide: Documents, useFactory, inject: [INGRESS_CONFIG] }],
    };
  }
}
