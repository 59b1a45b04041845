import { hash } from 'node:crypto';
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
import {
  AttemptRecord,
  Envelope,
  EnvelopeHeaders,
  Notice,
  NoticeHeaders,
  OperationsRecord,
  PAYLOADS,
} from '@relay/events';
import { Access, type FastifyReply } from '@relay/http';
import { openApi, Operation, operationsOf, routesOf, type OperationText } from '@relay/openapi';
import { errorsPage, ProblemBody, ProblemError } from '@relay/problem';
import type { IngressConfig } from '@relay/settings';
import { WebhookInput, WebhookRecord } from '@relay/webhooks';
import { z } from 'zod';
import { asyncApi, type AsyncApiFacts } from './asyncapi.js';
import { docsPage, STYLE } from './docs-page.js';
import { EventCatalogue, eventCatalogue } from './event-catalogue.js';
import { ingressApi } from './ingress-api.js';

const anyDocument = z.looseObject({}).describe('The document.');

const reading = (summary: string, mediaType: string, schema: z.ZodType) => ({
  summary,
  answer: { description: 'The document.', mediaType, content: { schema } },
});
const schemaName = z.string().describe('Name of the schema, as in this document, and `.json`.');

const operations = operationsOf('Documents', {
  readOpenApi: reading('This document', 'application/json', anyDocument),
  readAsyncApi: reading('The Kafka topics (AsyncAPI 3)', 'application/json', anyDocument),
  readDocs: reading('This document for people', 'text/html', z.string()),
  readErrors: reading('What each error means', 'text/markdown', z.string()),
  readEventTypes: {
    summary: 'The event types that webhooks can be registered for',
    answer: { description: 'All event types.', content: { schema: EventCatalogue } },
  },
  readSchema: {
    ...reading('One JSON Schema', 'application/schema+json', anyDocument),
    path: { name: { schema: schemaName, example: 'Envelope.json' } },
    problems: ['not-found'],
  },
});

/** All published documents, as bytes that every answer shares: they are the largest answers without authentication. */
export class Documents {
  readonly openApi: Buffer;
  readonly asyncApi: Buffer;
  readonly eventTypes: Buffer;
  readonly page: Buffer;
  readonly schemas: ReadonlyMap<string, Buffer>;
  /** Content security policy that permits only the page’s own style. */
  readonly pagePolicy = `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; frame-ancestors 'none'`;

  constructor(controllers: readonly Type[], facts: AsyncApiFacts) {
    const document = openApi(routesOf(controllers), facts, ingressApi(facts.publicUrl));
    this.openApi = bytesOf(document);
    this.asyncApi = bytesOf(asyncApi(facts));
    this.eventTypes = bytesOf(eventCatalogue(facts.publicUrl, facts.topicPrefix));
    this.page = Buffer.from(docsPage(document));
    this.schemas = jsonSchemas(facts.publicUrl);
  }
}

const TAKEN = { Envelope, Notice, ...PAYLOADS, WebhookInput };
const WRITTEN = {
  AttemptRecord,
  EnvelopeHeaders,
  NoticeHeaders,
  OperationsRecord,
  Problem: ProblemBody,
  Webhook: WebhookRecord,
};

/** Returns self-contained JSON Schemas (2020-12) by name, for validators and generators that do not read OpenAPI. */
function jsonSchemas(publicUrl: string): Map<string, Buffer> {
  const entries = [
    ...Object.entries(TAKEN).map(([name, schema]) => [name, z.toJSONSchema(schema, { io: 'input' })] as const),
    ...Object.entries(WRITTEN).map(([name, schema]) => [name, z.toJSONSchema(schema, { io: 'output' })] as const),
  ];
  return new Map(
    entries.map(([name, schema]) => [`${name}.json`, bytesOf({ $id: `${publicUrl}/schemas/${name}.json`, ...schema })]),
  );
}

const bytesOf = (document: object): Buffer => Buffer.from(JSON.stringify(document));

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
  static register(controllers: readonly Type[], config: IngressConfig): DynamicModule {
    const documents = new Documents([...controllers, DocumentsController], {
      publicUrl: config.PUBLIC_URL,
      version: RELAY_VERSION,
      topicPrefix: config.KAFKA_TOPIC_PREFIX,
      partitions: config.KAFKA_TOPIC_PARTITIONS,
    });
    return {
      module: DocumentsModule,
      controllers: [DocumentsController],
      providers: [{ provide: Documents, useValue: documents }],
    };
  }
}

const PAGE = errorsPage();

/** The page to which the `type` of every problem links. */
@Controller('docs/errors')
@Access({ kind: 'public' })
class ErrorsController {
  @Get()
  @Operation(operations.readErrors)
  @Header('content-type', 'text/markdown; charset=utf-8')
  @Header('cache-control', 'public, max-age=3600')
  page(): string {
    return PAGE;
  }
}

@Module({ controllers: [ErrorsController] })
export class ErrorsModule {}
