import {
  applyDecorators,
  Controller,
  Get,
  Header,
  HttpCode,
  Inject,
  Module,
  Param,
  Req,
  Res,
  type DynamicModule,
  type Type,
} from '@nestjs/common';
import { RELAY_VERSION } from '@relay/config';
import { EventTypeStore } from '@relay/event-types';
import { eventTypes } from '@relay/events';
import { Access, callerIdOf, type FastifyReply, type FastifyRequest } from '@relay/http';
import { Operation, operationsOf, type OperationText } from '@relay/openapi';
import { errorsPage, ProblemError } from '@relay/problem';
import type { IngressConfig } from '@relay/settings';
import { z } from 'zod';
import { PartnerRoutes, Reads } from '../access/partner-routes.js';
import { Documents } from './documents.js';
import { EventCatalogue, OwnEventTypes, schemaPathOf } from './event-catalogue.js';

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
  readHome: {
    summary: 'The way of a browser to this document',
    answer: { description: 'For a browser, which accepts `text/html`.', headers: { Location: '`docs`' } },
    problems: ['not-found'],
  },
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
  readPayloadSchema: {
    ...reading('The JSON Schema of the payload of an applied event type', 'application/schema+json', anyDocument),
    path: {
      type: { schema: z.string().describe('Name of the event type.'), example: 'order.paid' },
      revision: { schema: z.string().describe('Revision of the schema, and `.json`.'), example: '1.json' },
    },
    problems: ['not-found', 'unavailable'],
  },
  listOwnEventTypes: {
    summary: 'The event types that you can register webhooks for',
    description: 'Those of `GET /event-types`, and those that only chosen partners see, you among them.',
    answer: { description: 'All event types.', content: { schema: OwnEventTypes } },
  },
  readOwnPayloadSchema: {
    summary: 'The JSON Schema of the payload of an event type that you can register webhooks for',
    path: { name: { schema: z.string().describe('Name of the event type.'), example: 'order.paid' } },
    answer: { description: 'The document.', content: { schema: anyDocument } },
    problems: ['not-found'],
  },
});

const JSON_TYPE = 'application/json; charset=utf-8';

const Serves = (text: OperationText, mediaType: string): MethodDecorator =>
  applyDecorators(Operation(text), Header('cache-control', 'public, max-age=300'), Header('content-type', mediaType));

/** Serves the documents about the relay, for generators, validators and people. */
@Controller()
@Access({ kind: 'public' })
class DocumentsController {
  constructor(
    private readonly documents: Documents,
    @Inject(EventTypeStore) private readonly types: Pick<EventTypeStore, 'former'>,
  ) {}

  @Get()
  @HttpCode(303)
  @Header('vary', 'accept')
  @Operation(operations.readHome)
  home(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): void {
    if (!request.headers.accept?.includes('text/html')) throw new ProblemError('not-found', 'There is no such path.');
    void reply.header('location', 'docs');
  }

  @Get('openapi.json')
  @Serves(operations.readOpenApi, JSON_TYPE)
  openApi(): Buffer {
    return this.documents.now.openApi;
  }

  @Get('asyncapi.json')
  @Serves(operations.readAsyncApi, JSON_TYPE)
  asyncApi(): Buffer {
    return this.documents.now.asyncApi;
  }

  @Get('event-types')
  @Serves(operations.readEventTypes, JSON_TYPE)
  eventTypes(): Buffer {
    return this.documents.now.eventTypes;
  }

  @Get('schemas/:name')
  @Serves(operations.readSchema, 'application/schema+json')
  schema(@Param('name') name: string): Buffer {
    return found(this.documents.now.schemas.get(name));
  }

  @Get('schemas/:type/:revision')
  @Serves(operations.readPayloadSchema, 'application/schema+json')
  async payloadSchema(@Param('type') type: string, @Param('revision') revision: string): Promise<Buffer> {
    const current = this.documents.now.schemas.get(`${type}/${revision}`);
    return current ?? found(await this.documents.former(this.types, type, revision));
  }

  @Get('docs')
  @Serves(operations.readDocs, 'text/html; charset=utf-8')
  page(@Res({ passthrough: true }) reply: FastifyReply): Buffer {
    void reply.header('content-security-policy', this.documents.pagePolicy);
    return this.documents.now.page;
  }
}

function found(schema: Buffer | undefined): Buffer {
  if (schema === undefined) throw new ProblemError('not-found', 'There is no such schema.');
  return schema;
}

/** Serves the event types that one partner sees. */
@PartnerRoutes('webhooks/event-types')
class PartnerEventTypesController {
  constructor(private readonly documents: Documents) {}

  @Get()
  @Reads(operations.listOwnEventTypes)
  list(@Req() request: FastifyRequest): z.infer<typeof OwnEventTypes> {
    return this.documents.eventTypesFor(callerIdOf(request));
  }

  @Get(':name/schema')
  @Reads(operations.readOwnPayloadSchema)
  schema(@Param('name') name: string, @Req() request: FastifyRequest): unknown {
    const isSeen = eventTypes.is('registrable', name) && eventTypes.isFor(name, callerIdOf(request));
    const schema = eventTypes.applied(name)?.schema ?? this.documents.now.schemas.get(`${schemaPathOf(name)}.json`);
    if (!isSeen || schema === undefined) throw new ProblemError('not-found', 'There is no such schema.');
    return schema instanceof Buffer ? JSON.parse(schema.toString()) : schema;
  }
}

/** The controllers of this module: the API document describes them beside those of the other modules. */
export const DOCUMENT_CONTROLLERS: Type[] = [DocumentsController, PartnerEventTypesController];

@Module({})
export class DocumentsModule {
  /** @param controllers all controllers of the app except this module's */
  static register(controllers: readonly Type[], config: IngressConfig): DynamicModule {
    const documents = new Documents([...controllers, ...DOCUMENT_CONTROLLERS], {
      publicUrl: config.PUBLIC_URL,
      version: RELAY_VERSION,
      topicPrefix: config.KAFKA_TOPIC_PREFIX,
      partitions: config.KAFKA_TOPIC_PARTITIONS,
    });
    return {
      module: DocumentsModule,
      controllers: DOCUMENT_CONTROLLERS,
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
