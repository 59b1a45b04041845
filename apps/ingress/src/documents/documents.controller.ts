import { Controller, Get, Header, Inject, Param, Res } from '@nestjs/common';
import { ProblemError } from '@relay/problem';
import { Access, type FastifyReply } from '@relay/http';
import { Operation } from '@relay/openapi';
import { readAsyncApi, readDocs, readEventTypes, readOpenApi, readSchema } from './documents.openapi.js';
import type { Documents } from './documents.js';

/** Injection token of the Documents. */
export const DOCUMENTS = Symbol('Documents');

const CACHED = 'public, max-age=300';
const JSON_TYPE = 'application/json; charset=utf-8';

/** The documents about the relay, for generators, validators and people. */
@Controller()
@Access({ kind: 'public' })
export class DocumentsController {
  constructor(@Inject(DOCUMENTS) private readonly documents: Documents) {}

  @Get('openapi.json')
  @Operation(readOpenApi)
  @Header('cache-control', CACHED)
  @Header('content-type', JSON_TYPE)
  openApi(): Buffer {
    return this.documents.openApi;
  }

  @Get('asyncapi.json')
  @Operation(readAsyncApi)
  @Header('cache-control', CACHED)
  @Header('content-type', JSON_TYPE)
  asyncApi(): Buffer {
    return this.documents.asyncApi;
  }

  @Get('event-types')
  @Operation(readEventTypes)
  @Header('cache-control', CACHED)
  @Header('content-type', JSON_TYPE)
  eventTypes(): Buffer {
    return this.documents.eventTypes;
  }

  @Get('schemas/:name')
  @Operation(readSchema)
  @Header('cache-control', CACHED)
  @Header('content-type', 'application/schema+json')
  schema(@Param('name') name: string): Buffer {
    const found = this.documents.schemas.get(name);
    if (found === undefined) throw new ProblemError('not-found', 'There is no such schema.');
    return found;
  }

  @Get('docs')
  @Operation(readDocs)
  @Header('cache-control', CACHED)
  @Header('content-type', 'text/html; charset=utf-8')
  page(@Res({ passthrough: true }) reply: FastifyReply): Buffer {
    void reply.header('content-security-policy', this.documents.pagePolicy);
    return this.documents.page;
  }
}
