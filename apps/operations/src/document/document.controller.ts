import { Controller, Get, Header, Inject } from '@nestjs/common';
import { Access } from '@relay/http';
import { Operation } from '@relay/openapi';
import { readOpenApi } from './document.openapi.js';

/** Injection token of the document's bytes, which all answers share. */
export const DOCUMENT = Symbol('Document');

/** The OpenAPI document of this app. */
@Controller('openapi.json')
@Access({ kind: 'operator', role: 'viewer' })
export class DocumentController {
  constructor(@Inject(DOCUMENT) private readonly document: Buffer) {}

  @Get()
  @Operation(readOpenApi)
  @Header('content-type', 'application/json; charset=utf-8')
  read(): Buffer {
    return this.document;
  }
}
