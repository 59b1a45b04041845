import { Controller, Get, Header, Inject, Param, Res } from '@nestjs/common';
import { ProblemError } from '@relay/problem';
import type { FastifyReply } from '../http/fastify-request.js';
import { Access } from '../http/access.decorator.js';
import { Operation } from '../http/operation.decorator.js';
import { readAsyncApi, readDocs, readOpenApi, readSchema } from './documents.operations.js';
import type { Documents } from './documents.js';
import type { Schema } from './schema-book.js';

/** Injection token of the Documents. */
export const DOCUMENTS = Symbol('Documents');

const CACHED = 'public, max-age=300';

/** What the relay says of itself: for generators, for validators, for people. */
@Controller()
@Access({ kind: 'public' })
export class DocumentsController {
  constructor(@Inject(DOCUMENTS) private readonly documents: Documents) {}

  @Get('openapi.json')
  @Operation(readOpenApi)
  @Header('cache-control', CACHED)
  openApi(): Schema {
    return this.documents.openApi;
  }

  @Get('asyncapi.json')
  @Operation(readAsyncApi)
  @Header('cache-control', CACHED)
  asyncApi(): Schema {
    return this.documents.asyncApi;
  }

  @Get('schemas/:name')
  @Operation(readSchema)
  @Header('cache-control', CACHED)
  @Header('content-type', 'application/schema+json')
  schema(@Param('name') name: string): string {
    const found = Object.entries(this.documents.schemas).find(([known]) => `${known}.json` === name);
    if (found === undefined) throw new ProblemError('not-found', 'There is no such schema.');
    return JSON.stringify(found[1]);
  }

  @Get('docs')
  @Operation(readDocs)
  @Header('cache-control', CACHED)
  @Header('content-type', 'text/html; charset=utf-8')
  page(@Res({ passthrough: true }) reply: FastifyReply): string {
    void reply.header('content-security-policy', this.documents.pagePolicy);
    return this.documents.page;
  }
}
